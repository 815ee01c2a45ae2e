"""The same in PyTorch, on three ranks: torchrun --nproc-per-node 3 torch_bridge.py

Each backward has a context of its own, and gradients lie in it: `.grad` stays empty. torch does not retry
users' calls, so a lost message ends the backward pass with an error.

Leads to: Getting Started with Distributed RPC Framework, https://pytorch.org/tutorials/intermediate/rpc_tutorial.html
Here: programs/rpc_intro.py
"""

import os

import torch
import torch.distributed.autograd as dist_autograd
import torch.distributed.rpc as rpc

rank, size = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])
rpc.init_rpc(f"w{rank}", rank=rank, world_size=size)
if rank == 0:
    a = torch.tensor([1.0, 2.0], requires_grad=True)
    b = torch.tensor([3.0, 4.0], requires_grad=True)
    with dist_autograd.context() as context_id:
        product = rpc.rpc_sync("w1", torch.mul, args=(a, b))
        total = rpc.rpc_sync("w2", torch.add, args=(product, a)).sum()
        dist_autograd.backward(context_id, [total])
        gradients = dist_autograd.get_gradients(context_id)
        print(gradients[a].tolist(), gradients[b].tolist(), a.grad)
rpc.shutdown()
