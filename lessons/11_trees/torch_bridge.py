"""The same in PyTorch, on three ranks: torchrun --nproc-per-node 3 torch_bridge.py

The same four calls. With gloo and NCCL the library chooses the tree.

Leads to: Writing Distributed Applications with PyTorch, https://pytorch.org/tutorials/intermediate/dist_tuto.html
Here: programs/hand_averaged_sgd.py
"""

import torch
import torch.distributed as dist

dist.init_process_group("gloo")
rank, size = dist.get_rank(), dist.get_world_size()
tensor = torch.tensor([5.0 + rank])
dist.broadcast(tensor, src=2)
dist.reduce(total := torch.tensor([10.0**rank]), dst=0)
parts = [torch.zeros(1) for _ in range(size)] if rank == 0 else None
dist.gather(torch.tensor([rank * 1.5]), parts, dst=0)
mine = torch.zeros(1)
parts = [torch.tensor([r * 2.0]) for r in range(size)]
dist.scatter(mine, parts if rank == 0 else None, src=0)
print(tensor.item(), mine.item())
if rank == 0:
    print(total.item(), [part.item() for part in parts])
dist.destroy_process_group()
