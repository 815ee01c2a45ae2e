"""The same in PyTorch, on three ranks: torchrun --nproc-per-node 3 torch_bridge.py

Within one run all ranks get the same bits. Another number of ranks, or another algorithm, may give others.

Leads to: Writing Distributed Applications with PyTorch, https://pytorch.org/tutorials/intermediate/dist_tuto.html
Here: programs/hand_averaged_sgd.py
"""

import torch
import torch.distributed as dist

dist.init_process_group("gloo")
rank, size = dist.get_rank(), dist.get_world_size()
values = torch.linspace(0.1, 0.9, 7) / (rank + 3)
dist.all_reduce(values)
bits = values.view(torch.int32)
all_bits = [torch.zeros_like(bits) for _ in range(size)]
dist.all_gather(all_bits, bits)
is_same = all(bool((one == bits).all()) for one in all_bits)
print("the same bits on all ranks:", is_same)
dist.destroy_process_group()
