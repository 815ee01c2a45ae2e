"""The same in PyTorch, on three ranks: torchrun --nproc-per-node 3 torch_bridge.py

`DistributedOptimizer` steps each parameter where it lives. torch does not retry users' calls: a trainer that
loses an answer has to decide itself whether its gradient was counted.

Leads to: Implementing a Parameter Server, https://pytorch.org/tutorials/intermediate/rpc_param_server_tutorial.html
Here: programs/rpc_parameter_server.py
"""

import os

import torch
import torch.distributed.autograd as dist_autograd
import torch.distributed.rpc as rpc
from torch.distributed.optim import DistributedOptimizer


class Server:
    def __init__(self):
        self.weight = torch.nn.Parameter(torch.zeros(2))

    def weight_here(self):
        return rpc.RRef(self.weight)

    def forward(self, x):
        return (self.weight * x).sum()


rank, size = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])
rpc.init_rpc(f"w{rank}", rank=rank, world_size=size)
if rank == 1:
    server = rpc.remote("w0", Server)
    weight = server.rpc_sync().weight_here()
    optimizer = DistributedOptimizer(torch.optim.SGD, [weight], lr=0.0625)
    for step in range(3):
        with dist_autograd.context() as context_id:
            y = server.rpc_sync().forward(torch.tensor([1.0, 2.0]))
            loss = (y - 5) ** 2
            dist_autograd.backward(context_id, [loss])
            optimizer.step(context_id)
        print(step, loss.item())
rpc.shutdown()
