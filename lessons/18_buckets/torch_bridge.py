"""The same in PyTorch, on three ranks: torchrun --nproc-per-node 3 torch_bridge.py

`no_sync` keeps gradients on their rank; the first backward outside of it averages all of them. Buckets are
set in megabytes.

Leads to: Getting Started with Distributed Data Parallel, https://pytorch.org/tutorials/intermediate/ddp_tutorial.html
Here: programs/ddp_basic.py
"""

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel

dist.init_process_group("gloo")
rank, size = dist.get_rank(), dist.get_world_size()
model = torch.nn.Linear(2, 1, bias=False)
torch.nn.init.constant_(model.weight, 0.5)
ddp = DistributedDataParallel(model, bucket_cap_mb=1)
with ddp.no_sync():
    for piece in range(2):
        ddp(torch.full((1, 2), float(rank + piece))).sum().backward()
print("not averaged yet:", model.weight.grad[0].tolist())
ddp(torch.full((1, 2), float(rank + 2))).sum().backward()
print("averaged:", model.weight.grad[0].tolist())
dist.destroy_process_group()
