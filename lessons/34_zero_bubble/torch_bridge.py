"""The same in PyTorch, on three ranks: torchrun --nproc-per-node 3 torch_bridge.py

This schedule takes a list of stages for each rank, here one. It cuts each backward in two by itself: it walks the graph once to the input,
and later once more for the weights.

Leads to: Introduction to Distributed Pipeline Parallelism, https://pytorch.org/tutorials/intermediate/pipelining_tutorial.html
Here: docs/pipelines.md
"""

import torch
import torch.distributed as dist
from torch.distributed import pipelining

dist.init_process_group("gloo")
rank, size = dist.get_rank(), dist.get_world_size()
layer = torch.nn.Linear(2, 2, bias=False)
torch.nn.init.constant_(layer.weight, 0.5)
stage = pipelining.PipelineStage(layer, rank, size, torch.device("cpu"))


def loss_of(y, wanted):
    return (y - wanted).square().sum()


kind = pipelining.ScheduleInterleavedZeroBubble
schedule = kind([stage], 6, loss_fn=loss_of)
x, target, losses = torch.arange(12.0).reshape(6, 2), torch.ones(6, 2), []
if rank == 0:
    schedule.step(x)
elif rank == size - 1:
    schedule.step(target=target, losses=losses)
else:
    schedule.step()
print([loss.item() for loss in losses], layer.weight.grad.tolist())
dist.destroy_process_group()
