"""The same in PyTorch, on three ranks: torchrun --nproc-per-node 3 torch_bridge.py

If all ranks say send and then recv, torch may wait for ever, or until the timeout. It names no cycle.
`batch_isend_irecv` starts both before it waits.

Leads to: Writing Distributed Applications with PyTorch, https://pytorch.org/tutorials/intermediate/dist_tuto.html
Here: programs/hand_averaged_sgd.py
"""

import torch
import torch.distributed as dist

dist.init_process_group("gloo")
rank, size = dist.get_rank(), dist.get_world_size()
mine, theirs = torch.tensor([float(rank)]), torch.zeros(1)
both = [
    dist.P2POp(dist.isend, mine, (rank + 1) % size),
    dist.P2POp(dist.irecv, theirs, (rank - 1) % size),
]
for work in dist.batch_isend_irecv(both):
    work.wait()
print("from the left:", theirs.item())
dist.barrier()  # nobody leaves while a message is under way
dist.destroy_process_group()
