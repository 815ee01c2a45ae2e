"""The same in PyTorch, on three ranks: torchrun --nproc-per-node 3 torch_bridge.py

The counts first, then the rows. Rank r has expert r, which multiplies by r + 1; its k-th token goes to expert (r * k) % 3.
torch.distributed.nn.functional.all_to_all_single is the same with a gradient.

Leads to: Writing Distributed Applications with PyTorch, https://pytorch.org/tutorials/intermediate/dist_tuto.html
Here: docs/collectives.md
"""

import torch
import torch.distributed as dist

dist.init_process_group("gloo")
rank, size = dist.get_rank(), dist.get_world_size()
x = torch.arange(4.0).view(4, 1) + 10 * rank
experts = [rank * token % size for token in range(4)]
order = sorted(range(4), key=lambda token: experts[token])
sent = torch.tensor([experts.count(expert) for expert in range(size)])
came = torch.empty_like(sent)
dist.all_to_all_single(came, sent)
rows = torch.empty(int(came.sum()), 1)
dist.all_to_all_single(rows, x[order], came.tolist(), sent.tolist())
back = torch.empty(4, 1)
made = rows * (rank + 1)
dist.all_to_all_single(back, made, sent.tolist(), came.tolist())
y = torch.zeros(4, 1)
y[order] = back
print(came.tolist(), y.flatten().tolist())
dist.destroy_process_group()
