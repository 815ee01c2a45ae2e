"""The same in PyTorch, on three ranks: torchrun --nproc-per-node 3 torch_bridge.py

For a flag of four bytes only the rounds count. You call all_reduce as for a gigabyte.

Leads to: Writing Distributed Applications with PyTorch, https://pytorch.org/tutorials/intermediate/dist_tuto.html
Here: programs/hand_averaged_sgd.py
"""

import torch
import torch.distributed as dist

dist.init_process_group("gloo")
rank, size = dist.get_rank(), dist.get_world_size()
has_nan = torch.tensor([1 if rank == 1 else 0], dtype=torch.int32)
dist.all_reduce(has_nan, op=dist.ReduceOp.MAX)
print("somebody has a nan:", bool(has_nan.item()))
everybody = [torch.zeros(1) for _ in range(size)]
dist.all_gather(everybody, torch.tensor([rank * 0.5]))
print([one.item() for one in everybody])
dist.destroy_process_group()
