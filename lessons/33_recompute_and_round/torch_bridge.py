"""The same in PyTorch, on three ranks: torchrun --nproc-per-node 3 torch_bridge.py

`checkpoint` keeps the random state by itself. `GradScaler` scales, looks for inf, and steps or does not; where ranks hold different
gradients, FSDP's makes them agree.

Leads to: Automatic Mixed Precision (`autocast`, `GradScaler`), https://pytorch.org/tutorials/recipes/recipes/amp_recipe.html
Here: docs/fsdp.md
"""

import torch
import torch.distributed as dist
from torch.utils.checkpoint import checkpoint

dist.init_process_group("gloo")
rank, size = dist.get_rank(), dist.get_world_size()
layer = torch.nn.Linear(2, 2, bias=False)
torch.nn.init.constant_(layer.weight, 0.5)
optimizer = torch.optim.SGD(layer.parameters(), lr=0.125)
scaler = torch.amp.GradScaler("cpu", init_scale=1024.0, growth_interval=2)
for slope in (1.0, 2.0, float("inf")):  # inf on the last rank only
    optimizer.zero_grad()
    x = torch.full((1, 2), slope if rank == size - 1 else 1.0)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        y = checkpoint(layer, x, use_reentrant=False)
    scaler.scale(y.float().sum()).backward()
    dist.all_reduce(layer.weight.grad)  # in float32; inf reaches all ranks
    layer.weight.grad /= size
    scaler.step(optimizer)
    scaler.update()
    print(y.dtype, layer.weight[0].tolist(), scaler.get_scale())
dist.destroy_process_group()
