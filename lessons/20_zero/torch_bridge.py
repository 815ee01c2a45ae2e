"""The same in PyTorch, on three ranks: torchrun --nproc-per-node 3 torch_bridge.py

Each rank keeps the averages of its own parameters, takes their step, and broadcasts them: stage 1.

Leads to: Getting Started with Distributed Data Parallel, https://pytorch.org/tutorials/intermediate/ddp_tutorial.html
Here: programs/ddp_basic.py
"""

import torch
import torch.distributed as dist
from torch.distributed.optim import ZeroRedundancyOptimizer
from torch.nn.parallel import DistributedDataParallel

dist.init_process_group("gloo")
rank, size = dist.get_rank(), dist.get_world_size()
model = torch.nn.Linear(2, 1, bias=False)
torch.nn.init.constant_(model.weight, 0.5)
ddp = DistributedDataParallel(model)
adam = torch.optim.Adam
optimizer = ZeroRedundancyOptimizer(ddp.parameters(), adam, lr=0.125)
for step in range(3):
    optimizer.zero_grad()
    ddp(torch.tensor([[float(rank), float(step)]])).square().sum().backward()
    optimizer.step()
print([round(w, 4) for w in model.weight[0].tolist()])
dist.destroy_process_group()
