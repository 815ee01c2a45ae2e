"""The same in PyTorch, on three ranks: torchrun --nproc-per-node 3 torch_bridge.py

`remote` leaves the result at its owner, and `to_here` fetches a copy. References are counted; torch does not
retry users' calls, but it retries the messages that count them.

Leads to: Getting Started with Distributed RPC Framework, https://pytorch.org/tutorials/intermediate/rpc_tutorial.html
Here: programs/rpc_intro.py
"""

import os

import torch
import torch.distributed.rpc as rpc

rank, size = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])
rpc.init_rpc(f"w{rank}", rank=rank, world_size=size)
if rank == 0:
    there = rpc.remote("w1", torch.full, args=((2,), 7.0))
    print(there.owner_name(), there.is_owner(), there.to_here().tolist())
    total = rpc.remote("w2", torch.add, args=(there.to_here(), 1))
    print(total.to_here().tolist())
    words = rpc.remote("w1", list, args=((3, 1, 2),))
    words.rpc_sync().sort()
    print(words.to_here())
rpc.shutdown()
