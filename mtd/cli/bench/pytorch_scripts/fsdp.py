"""A step of FSDP2 with mixed precision on a transformer, by default of the size of Llama 3 8B. Arguments: layers, width."""

import sys

import torch
import torch.distributed as dist
from torch import nn
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import MixedPrecisionPolicy, fully_shard
from torch.nn import functional as F

LAYERS, WIDTH = (int(given) for given in sys.argv[1:3]) if len(sys.argv) > 2 else (32, 4096)
HEAD, INNER, WORDS, LETTERS = 128, WIDTH * 7 // 2, 128_256, 8192
HEADS, KEYS = WIDTH // HEAD, max(1, WIDTH // HEAD // 4)  # four heads share their keys and values


class LargeBlock(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.norm, self.inner_norm = nn.RMSNorm(WIDTH), nn.RMSNorm(WIDTH)
        self.queries = nn.Linear(WIDTH, WIDTH, bias=False)
        self.keys = nn.Linear(WIDTH, KEYS * HEAD, bias=False)
        self.values = nn.Linear(WIDTH, KEYS * HEAD, bias=False)
        self.out = nn.Linear(WIDTH, WIDTH, bias=False)
        self.gate = nn.Linear(WIDTH, INNER, bias=False)
        self.up = nn.Linear(WIDTH, INNER, bias=False)
        self.down = nn.Linear(INNER, WIDTH, bias=False)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        seen = self.norm(x)
        q, k, v = (
            part(seen).unflatten(-1, (-1, HEAD)).transpose(1, 2)
            for part in (self.queries, self.keys, self.values)
        )
        k, v = (part.repeat_interleave(HEADS // KEYS, 1) for part in (k, v))
        attended = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + self.out(attended.transpose(1, 2).flatten(-2))
        seen = self.inner_norm(x)
        return x + self.down(F.silu(self.gate(seen)) * self.up(seen))


class LargeModel(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.embedding = nn.Embedding(WORDS, WIDTH)
        self.blocks = nn.ModuleList(LargeBlock() for _ in range(LAYERS))
        self.norm, self.head = nn.RMSNorm(WIDTH), nn.Linear(WIDTH, WORDS, bias=False)

    def forward(self, text: torch.Tensor) -> torch.Tensor:
        x = self.embedding(text)
        for block in self.blocks:
            x = block(x)
        return self.head(self.norm(x))


dist.init_process_group("gloo")
mesh = init_device_mesh("cpu", (dist.get_world_size(),))
model = LargeModel()
halves = MixedPrecisionPolicy(param_dtype=torch.bfloat16, reduce_dtype=torch.float32)
for block in model.blocks:
    fully_shard(block, mesh=mesh, mp_policy=halves)
fully_shard(model, mesh=mesh, mp_policy=halves)
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4, foreach=True)
text = torch.zeros(1, LETTERS, dtype=torch.long)
F.cross_entropy(model(text).flatten(0, 1).float(), text.flatten()).backward()
optimizer.step()
dist.destroy_process_group()
