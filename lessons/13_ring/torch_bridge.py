"""The same in PyTorch, on three ranks: torchrun --nproc-per-node 3 torch_bridge.py

gloo and NCCL have your ring inside of one call. With async_op=True it goes on while you compute.

Leads to: Writing Distributed Applications with PyTorch, https://pytorch.org/tutorials/intermediate/dist_tuto.html
Here: programs/hand_averaged_sgd.py
"""

import torch
import torch.distributed as dist

dist.init_process_group("gloo")
rank, size = dist.get_rank(), dist.get_world_size()
tensor = torch.arange(5.0) * (rank + 1)
dist.all_reduce(tensor, op=dist.ReduceOp.SUM)
print(tensor.tolist())
largest = torch.tensor([-5.0 + rank, 5.0 - rank])
work = dist.all_reduce(largest, op=dist.ReduceOp.MAX, async_op=True)
work.wait()
print(largest.tolist())
dist.destroy_process_group()
