"""The same in PyTorch, on three ranks: torchrun --nproc-per-node 3 torch_bridge.py

gloo frames messages on TCP connections itself. You only name the address at which ranks meet.

Leads to: Writing Distributed Applications with PyTorch, https://pytorch.org/tutorials/intermediate/dist_tuto.html
Here: programs/hand_averaged_sgd.py
"""

import os

import torch
import torch.distributed as dist

place = f"tcp://{os.environ['MASTER_ADDR']}:{os.environ['MASTER_PORT']}"
rank, size = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])
dist.init_process_group("gloo", init_method=place, rank=rank, world_size=size)
message = torch.zeros(250, dtype=torch.uint8)
if rank == 0:
    message = torch.arange(250, dtype=torch.uint8)
    dist.send(message, dst=1)
elif rank == 1:
    dist.recv(message, src=0)
print(message.sum().item())
dist.barrier()  # nobody leaves while a message is under way
dist.destroy_process_group()
