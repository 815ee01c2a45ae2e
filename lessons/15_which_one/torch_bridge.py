"""The same in PyTorch, on three ranks: torchrun --nproc-per-node 3 torch_bridge.py

torch leaves the choice to the backend; with NCCL the variable NCCL_ALGO forces it. The result is the same.

Leads to: Writing Distributed Applications with PyTorch, https://pytorch.org/tutorials/intermediate/dist_tuto.html
Here: programs/hand_averaged_sgd.py
"""

import time

import torch
import torch.distributed as dist

dist.init_process_group("gloo")
rank, size = dist.get_rank(), dist.get_world_size()
for count in (1, 1000, 100_000):
    tensor = torch.full((count,), rank + 1.0)
    begun = time.perf_counter()
    dist.all_reduce(tensor)
    took = time.perf_counter() - begun
    bus = (
        2 * (size - 1) / size * tensor.numel() * 4 / took
    )  # bytes in a second, as nccl-tests count
    print(count, tensor.sum().item(), bus > 0)
dist.destroy_process_group()
