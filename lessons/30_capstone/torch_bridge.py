"""The same in PyTorch, on three ranks: torchrun --nproc-per-node 3 torch_bridge.py

Your script is a script of torch's: only the imports differ. `mtd capstone` changes them, and compares.

Leads to: Getting Started with Distributed Data Parallel, https://pytorch.org/tutorials/intermediate/ddp_tutorial.html
Here: programs/ddp_basic.py
"""

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel

dist.init_process_group("gloo")
rank, size = dist.get_rank(), dist.get_world_size()
torch.manual_seed(0)
layers = torch.nn.Linear(2, 4), torch.nn.ReLU(), torch.nn.Linear(4, 1)
model = torch.nn.Sequential(*layers)
for p in model.parameters():
    torch.nn.init.constant_(p, 0.25)
ddp = DistributedDataParallel(model)
optimizer = torch.optim.SGD(ddp.parameters(), lr=0.0625, momentum=0.5)
x = torch.arange(6.0).reshape(3, 2)[rank : rank + 1] / 4
for step in range(4):
    optimizer.zero_grad()
    loss = (ddp(x) - x.sum()).square().mean()
    loss.backward()
    optimizer.step()
    print(step, round(loss.item(), 5))
dist.destroy_process_group()
