"""A script of PyTorch's: one step of FSDP2 on a model of Llama's kind. The sizes are its arguments, and nothing here knows of
a simulator.

    mtd run --ranks 64 --device h100 --shapes --fold --net … mtd/cli/bench/pytorch_scripts/llama.py --layers 32 --width 4096 …
"""

from __future__ import annotations

import argparse
from typing import Any

import torch
import torch.distributed as dist
from torch import nn
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import MixedPrecisionPolicy, fully_shard
from torch.nn import functional as F

PROGRAM = True


class Layer(nn.Module):
    def __init__(self, sizes: argparse.Namespace) -> None:
        super().__init__()
        width, shared = sizes.width, sizes.kv_heads * sizes.width // sizes.heads
        self.head, self.copies = width // sizes.heads, sizes.heads // sizes.kv_heads
        self.norm1, self.norm2 = nn.RMSNorm(width), nn.RMSNorm(width)
        self.query, self.out = (nn.Linear(width, width, bias=False) for _ in range(2))
        self.key, self.value = (nn.Linear(width, shared, bias=False) for _ in range(2))
        self.gate, self.up = (nn.Linear(width, sizes.ffn, bias=False) for _ in range(2))
        self.down = nn.Linear(sizes.ffn, width, bias=False)

    def forward(self, x: Any, turn: Any) -> Any:
        x = x + self.attention(self.norm1(x), turn)
        h = self.norm2(x)
        return x + self.down(F.silu(self.gate(h)) * self.up(h))

    def attention(self, x: Any, turn: Any) -> Any:
        q, k, v = (matrix(x).unflatten(-1, (-1, self.head)) for matrix in (self.query, self.key, self.value))
        q, k = turned(q, *turn), turned(k, *turn)
        q, k, v = (each.transpose(1, 2) for each in (q, k, v))
        seen = F.scaled_dot_product_attention(q, k, v, is_causal=True, enable_gqa=self.copies > 1)
        return self.out(seen.transpose(1, 2).flatten(-2))


def turned(x: Any, cosine: Any, sine: Any) -> Any:
    first, second = x.chunk(2, -1)
    return torch.cat([first * cosine - second * sine, second * cosine + first * sine], -1)


class Llama(nn.Module):
    def __init__(self, sizes: argparse.Namespace) -> None:
        super().__init__()
        self.words = nn.Embedding(sizes.words, sizes.width)
        self.layers = nn.ModuleList(Layer(sizes) for _ in range(sizes.layers))
        self.norm = nn.RMSNorm(sizes.width)
        self.logits = nn.Linear(sizes.width, sizes.words, bias=False)
        half = sizes.width // sizes.heads // 2
        angles = torch.outer(torch.arange(sizes.sequence).float(), 500000.0 ** -(torch.arange(half) / half))
        self.turn = [each[:, None, :].bfloat16() for each in (angles.cos(), angles.sin())]

    def forward(self, words: Any) -> Any:
        x = self.words(words)
        for layer in self.layers:
            x = layer(x, self.turn)
        return self.logits(self.norm(x))


def train(sizes: argparse.Namespace) -> None:
    dist.init_process_group("nccl")
    mesh = init_device_mesh("cpu", (dist.get_world_size(),))
    model = Llama(sizes)
    policy = MixedPrecisionPolicy(param_dtype=torch.bfloat16, reduce_dtype=torch.float32)
    for unit in [model.words, *model.layers, model]:
        fully_shard(unit, mesh=mesh, mp_policy=policy)
    optimizer = torch.optim.AdamW(model.parameters(), fused=True)
    for _ in range(sizes.steps):
        words = torch.zeros(sizes.micro, sizes.sequence, dtype=torch.long)
        F.cross_entropy(model(words).flatten(0, 1), words.flatten()).backward()
        optimizer.step()
        optimizer.zero_grad()
        torch.cpu.synchronize()


def arguments() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser()
    usual = {
        "layers": 32,
        "width": 4096,
        "heads": 32,
        "kv_heads": 8,
        "ffn": 14336,
        "words": 128256,
        "sequence": 8192,
        "micro": 1,
        "steps": 1,
    }
    for name, value in usual.items():
        parser.add_argument(f"--{name.replace('_', '-')}", type=int, default=value)
    return parser


if __name__ == "__main__":
    train(arguments().parse_args())
