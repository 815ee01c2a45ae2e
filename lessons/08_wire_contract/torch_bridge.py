"""The same in PyTorch, on three ranks: torchrun --nproc-per-node 3 torch_bridge.py

torch sends no header with a tensor: the receiver brings one of the right type and shape. Objects travel as
pickles, which can run code, so only trusted ranks may send them; the lessons' codec has no pickle.

Leads to: Writing Distributed Applications with PyTorch, https://pytorch.org/tutorials/intermediate/dist_tuto.html
Here: programs/hand_averaged_sgd.py
"""

import torch
import torch.distributed as dist

dist.init_process_group("gloo")
rank, size = dist.get_rank(), dist.get_world_size()
matrix = torch.zeros(2, 3, dtype=torch.int64)
if rank == 0:
    dist.send(torch.arange(6).reshape(2, 3), dst=1)
elif rank == 1:
    dist.recv(matrix, src=0)
    print(matrix.tolist())
said = [{"shape": [2, 3]} if rank == 0 else None]
dist.broadcast_object_list(said, src=0)
print(said[0]["shape"])
dist.barrier()  # nobody leaves while a message is under way
dist.destroy_process_group()
