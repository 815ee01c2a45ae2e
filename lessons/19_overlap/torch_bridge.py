"""The same in PyTorch, on three ranks: torchrun --nproc-per-node 3 torch_bridge.py

A communication hook gets each bucket when its gradients are there, and returns a Future of its average.

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


def average(state, bucket):
    sent = bucket.buffer().div_(size)
    future = dist.all_reduce(sent, async_op=True).get_future()
    return future.then(lambda done: done.value()[0])


ddp = DistributedDataParallel(model)
ddp.register_comm_hook(None, average)
ddp(torch.full((1, 2), 3.0 * rank)).sum().backward()
print(model.weight.grad[0].tolist())
dist.destroy_process_group()
