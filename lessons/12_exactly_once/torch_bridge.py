"""The same in PyTorch, on three ranks: torchrun --nproc-per-node 3 torch_bridge.py

Labels prove torch's all_reduce, too: of n elements, digit r of element e, in base 64, is n + e when rank r is in it once.

Leads to: Writing Distributed Applications with PyTorch, https://pytorch.org/tutorials/intermediate/dist_tuto.html
Here: programs/hand_averaged_sgd.py
"""

import torch
import torch.distributed as dist

dist.init_process_group("gloo")
rank, size = dist.get_rank(), dist.get_world_size()
count = 5
labels = torch.tensor([(count + e) * 64**rank for e in range(count)])
dist.all_reduce(labels)
for e, total in enumerate(labels.tolist()):
    digits = [total // 64**r % 64 for r in range(size)]
    print(e, digits)
    assert digits == [count + e] * size
dist.destroy_process_group()
