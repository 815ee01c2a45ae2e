"""The same in PyTorch, on three ranks: torchrun --nproc-per-node 3 torch_bridge.py

In torch a folder is only the place where ranks meet: a FileStore. Tensors go over gloo's sockets all the same,
and there is no MQTT.

Leads to: Writing Distributed Applications with PyTorch, https://pytorch.org/tutorials/intermediate/dist_tuto.html
Here: programs/hand_averaged_sgd.py
"""

import os
import tempfile

import torch
import torch.distributed as dist

rank, size = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])
path = f"{tempfile.gettempdir()}/meeting-{os.environ['MASTER_PORT']}"
store = dist.FileStore(path, size)
dist.init_process_group("gloo", store=store, rank=rank, world_size=size)
tensor = torch.tensor([2.0**rank])
dist.all_reduce(tensor)
print(tensor.item(), store.add("came", 1) <= size)
dist.barrier()
dist.destroy_process_group()
