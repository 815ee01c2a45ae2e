"""The same in PyTorch, on three ranks: torchrun --nproc-per-node 3 torch_bridge.py

Each rank brings its stage; the schedule is your order of forwards and backwards, with the sends between.

Leads to: Introduction to Distributed Pipeline Parallelism (`Schedule1F1B`), https://pytorch.org/tutorials/intermediate/pipelining_tutorial.html
Here: docs/pipelines.md
"""

import torch
import torch.distributed as dist
from torch.distributed.pipelining import PipelineStage, Schedule1F1B

dist.init_process_group("gloo")
rank, size = dist.get_rank(), dist.get_world_size()
layer = torch.nn.Linear(2, 2, bias=False)
torch.nn.init.constant_(layer.weight, 0.5)
stage = PipelineStage(layer, rank, size, torch.device("cpu"))


def loss_of(y, wanted):
    return (y - wanted).square().sum()


schedule = Schedule1F1B(stage, n_microbatches=4, loss_fn=loss_of)
x, target, losses = torch.arange(8.0).reshape(4, 2), torch.ones(4, 2), []
if rank == 0:
    schedule.step(x)
elif rank == size - 1:
    schedule.step(target=target, losses=losses)
else:
    schedule.step()
print([loss.item() for loss in losses], layer.weight.grad.tolist())
dist.destroy_process_group()
