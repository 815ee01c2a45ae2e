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


def forward(stage, x):
    return stage.local_value().weight * x.to_here()


def grad(stage, context_id):
    gradients = dist_autograd.get_gradients(context_id)
    return gradients[stage.local_value().weight].item()


rank, size = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])
rpc.init_rpc(f"w{rank}", rank=rank, world_size=size)
if rank == 0:
    first = rpc.remote("w1", Stage, args=(2.0,))
    second = rpc.remote("w2", Stage, args=(3.0,))
    with dist_autograd.context() as context_id:
        halves = [rpc.RRef(half) for half in torch.arange(4.0).split(2)]
        ys = [rpc.remote("w1", forward, args=(first, x)) for x in halves]
        zs = [rpc.rpc_async("w2", forward, args=(second, y)) for y in ys]
        loss = torch.cat([z.wait() for z in zs]).sum()
        dist_autograd.backward(context_id, [loss])
        print(loss.item(), rpc.rpc_sync("w1", grad, args=(first, context_id)))
        print(rpc.rpc_sync("w2", grad, args=(second, context_id)))
rpc.shutdown()
