"""The same in PyTorch, on three ranks: torchrun --nproc-per-node 3 torch_bridge.py

Stages live on two workers, and a call of the second takes the first one's micro-batch by reference. torch does
not retry users' calls: one lost call ends the batch.

Leads to: Distributed Pipeline Parallelism Using RPC (a ResNet in two stages), https://pytorch.org/tutorials/intermediate/dist_pipeline_parallel_tutorial.html
Here: programs/pipeline_resnet50.py
"""

import os

import torch
import torch.distributed.autograd as dist_autograd
import torch.distributed.rpc as rpc


class Stage:
    def __init__(self, factor):
        self.weight = torch.tensor([factor], requires_grad=True)

    def forward(self, x_rref):
        return self.weight * x_rref.to_here()

    def gradient(self, context_id):
        return dist_autograd.get_gradients(context_id)[self.weight]


rank, size = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])
rpc.init_rpc(f"w{rank}", rank=rank, world_size=size)
if rank == 0:
    first, second = rpc.remote("w1", Stage, args=(2.0,)), rpc.remote("w2", Stage, args=(3.0,))
    with dist_autograd.context() as context_id:
        halves = [rpc.RRef(half) for half in torch.arange(4.0).split(2)]
        futures = [second.rpc_async().forward(first.remote().forward(half)) for half in halves]
        loss = torch.cat([future.wait() for future in futures]).sum()
        dist_autograd.backward(context_id, [loss])
        print(loss.item(), *(one.rpc_sync().gradient(context_id).item() for one in (first, second)))
rpc.shutdown()
