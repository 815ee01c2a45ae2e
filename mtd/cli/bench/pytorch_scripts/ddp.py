"""20 steps of a small model in DDP, as a user writes it. With a number: so many times the same steps, without a group."""

import sys

import torch
import torch.distributed as dist
from torch import nn

STEPS = 20


def train(wrap: type[nn.Module] | None = None) -> None:
    torch.manual_seed(0)
    model: nn.Module = nn.Sequential(nn.Linear(784, 256), nn.ReLU(), nn.Linear(256, 10))
    model = wrap(model) if wrap is not None else model
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
    for _ in range(STEPS):
        pictures, labels = torch.randn(64, 784), torch.arange(64) % 10
        optimizer.zero_grad()
        nn.functional.cross_entropy(model(pictures), labels).backward()
        optimizer.step()


torch.set_num_threads(1)
if len(sys.argv) > 1:
    for _ in range(int(sys.argv[1])):
        train()
else:
    dist.init_process_group("gloo")
    train(nn.parallel.DistributedDataParallel)
    dist.destroy_process_group()
