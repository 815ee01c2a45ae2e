"""The same in PyTorch, on three ranks: torchrun --nproc-per-node 3 torch_bridge.py

The outer step is an optimizer of torch, whose gradient is the way that the ranks have come. `PostLocalSGDOptimizer` of torch averages the
weights; torchft has DiLoCo, and a quorum in each step.

Leads to: Getting Started with Distributed Data Parallel, https://pytorch.org/tutorials/intermediate/ddp_tutorial.html
Here: docs/ddp.md
"""

import torch
import torch.distributed as dist

dist.init_process_group("gloo")
rank, size = dist.get_rank(), dist.get_world_size()
weight = torch.zeros(2, requires_grad=True)
kept = torch.zeros(2, requires_grad=True)
inner = torch.optim.SGD([weight], lr=0.125)
outer = torch.optim.SGD([kept], lr=0.5, momentum=0.5, nesterov=True)
for step in range(1, 9):
    inner.zero_grad()
    (weight * (rank + 1.0)).sum().backward()
    inner.step()
    if step % 4 == 0:
        change = kept.detach() - weight.detach()
        dist.all_reduce(change)
        kept.grad = change / size
        outer.step()
        weight.data.copy_(kept.detach())
    print(step, weight.tolist())
dist.destroy_process_group()
