"""The same in PyTorch, on three ranks: torchrun --nproc-per-node 3 torch_bridge.py

torchrun says to each rank by its environment where the store is, and which rank it is.

Leads to: Writing Distributed Applications with PyTorch, https://pytorch.org/tutorials/intermediate/dist_tuto.html
Here: programs/hand_averaged_sgd.py
"""

import torch
import torch.distributed as dist

dist.init_process_group("gloo")
rank, size = dist.get_rank(), dist.get_world_size()
dist.barrier()
pair = dist.new_group([0, 2])  # all ranks call it, also those not in it
tensor = torch.tensor([10.0**rank])
if rank in (0, 2):
    dist.all_reduce(tensor, group=pair)
print(tensor.item())
dist.barrier()
dist.destroy_process_group()
