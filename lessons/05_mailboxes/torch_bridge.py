"""The same in PyTorch, on three ranks: torchrun --nproc-per-node 3 torch_bridge.py

Tags are matched as yours are. In torch a send may wait until its recv is there. Here the recvs have another order than
the sends, so the sends have to be isends.

Leads to: Writing Distributed Applications with PyTorch, https://pytorch.org/tutorials/intermediate/dist_tuto.html
Here: programs/hand_averaged_sgd.py
"""

import torch
import torch.distributed as dist

dist.init_process_group("gloo")
rank, size = dist.get_rank(), dist.get_world_size()
if rank == 0:
    tensors = {tag: torch.tensor([10.0 * tag]) for tag in (1, 2)}
    works = [dist.isend(x, dst=1, tag=tag) for tag, x in tensors.items()]
    for work in works:
        work.wait()
if rank == 1:
    for tag in (2, 1):
        heard = torch.zeros(1)
        dist.recv(heard, src=0, tag=tag)
        print("tag", tag, heard.item())
dist.barrier()  # nobody leaves while a message is under way
dist.destroy_process_group()
