"""The same in PyTorch, on three ranks: torchrun --nproc-per-node 3 torch_bridge.py

torch has no virtual clock: there you measure. The first messages also open connections, so they do not count.

Leads to: Writing Distributed Applications with PyTorch, https://pytorch.org/tutorials/intermediate/dist_tuto.html
Here: programs/hand_averaged_sgd.py
"""

import time

import torch
import torch.distributed as dist

dist.init_process_group("gloo")
rank, size = dist.get_rank(), dist.get_world_size()
tensor = torch.zeros(1)
for _ in range(4):
    begun = time.perf_counter()
    if rank == 0:
        dist.send(tensor + 1, dst=1)
        dist.recv(tensor, src=1)
    elif rank == 1:
        dist.recv(tensor, src=0)
        dist.send(tensor + 1, dst=0)
    took = time.perf_counter() - begun
print("there and back:", tensor.item(), took > 0)
dist.barrier()  # nobody leaves while a message is under way
dist.destroy_process_group()
