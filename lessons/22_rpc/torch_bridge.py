"""The same in PyTorch, on three ranks: torchrun --nproc-per-node 3 torch_bridge.py

torch does not retry a user's call. After a timeout the call has run, or it has not: the caller cannot know.
So only calls that may run twice may be tried again, or they carry a number as yours do.
A ValueError arrives as one; torch makes a RuntimeError of most other kinds.

Leads to: Getting Started with Distributed RPC Framework, https://pytorch.org/tutorials/intermediate/rpc_tutorial.html
Here: programs/rpc_intro.py
"""

import os

import torch
import torch.distributed.rpc as rpc

rank, size = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])
rpc.init_rpc(f"w{rank}", rank=rank, world_size=size)
if rank == 0:
    print(rpc.rpc_sync("w1", torch.add, args=(torch.ones(2), 3)).tolist())
    future = rpc.rpc_async("w2", max, args=(3, 5))
    print(future.wait())
    try:
        rpc.rpc_sync("w1", int, args=("seven",), timeout=30)
    except ValueError:
        print("raised here, as it was there")
rpc.shutdown()
