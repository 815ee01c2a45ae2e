"""The same in PyTorch, on three ranks: torchrun --nproc-per-node 3 torch_bridge.py

`fully_shard` changes the module in place; its parameters become shards. Call it for the layers, then for the whole.

Leads to: Getting Started with Fully Sharded Data Parallel (`fully_shard`), https://pytorch.org/tutorials/intermediate/FSDP_tutorial.html
Here: programs/fsdp_mnist.py
"""

import torch
import torch.distributed as dist
from torch.distributed.fsdp import fully_shard

dist.init_process_group("gloo")
rank, size = dist.get_rank(), dist.get_world_size()
first = torch.nn.Linear(4, 6, bias=False)
model = torch.nn.Sequential(first, torch.nn.Linear(6, 3, bias=False))
for p in model.parameters():
    torch.nn.init.constant_(p, 0.25)
for layer in model:
    fully_shard(layer)
fully_shard(model)
optimizer = torch.optim.SGD(model.parameters(), lr=0.125)
model(torch.full((1, 4), float(rank))).sum().backward()
optimizer.step()
weight = model[0].weight
print(weight.full_tensor()[0].tolist(), tuple(weight.to_local().shape))
dist.destroy_process_group()
