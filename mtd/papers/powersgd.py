"""P9: what PowerSGD sends in an epoch of ResNet-18 on CIFAR-10: the hook of our DDP, counted."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

import minitorch_dist as torch
from minitorch_dist import models, nn
from minitorch_dist.distributed.algorithms.ddp_comm_hooks import default_hooks
from minitorch_dist.distributed.algorithms.ddp_comm_hooks.powerSGD_hook import (
    PowerSGDState,
    powerSGD_hook,
)
from minitorch_dist.distributed.grad_bucket import GradBucket
from minitorch_dist.sim import nets
from minitorch_dist.sim.runner import run
from mtd.papers.paper import Paper, Row

RANKS = 2  # each of two sends each number once, which is what the paper counts
STEPS = 50_000 // (16 * 128)  # in an epoch, of 16 workers with 128 images each
NET = nets.Hockney(0, "10Gb/s")


def resnet18() -> nn.Module:
    """That of small images: a 3 × 3 convolution comes first, and ten classes last."""
    model: Any = models.resnet18(num_classes=10)
    model.conv1 = nn.Conv2d(3, 64, 3, padding=1, bias=False)
    return model  # type: ignore[no-any-return]


def reduced(parameters: Sequence[Any], rank: int) -> None:
    """One bucket with a gradient for each parameter, reduced by the hook; rank 0: not compressed."""
    sizes = [p.numel() for p in parameters]
    buffer = torch.ones(sum(sizes))
    gradients = [g.view(p.shape) for g, p in zip(buffer.split(sizes), parameters, strict=True)]
    bucket = GradBucket(0, buffer, gradients, parameters, True)
    if rank == 0:
        default_hooks.allreduce_hook(None, bucket).wait()
        return
    state = PowerSGDState(
        None, rank, start_powerSGD_iter=0, use_error_feedback=False, warm_start=False
    )  # what is remembered between steps is not sent
    powerSGD_hook(state, bucket).wait()


def rows() -> Sequence[Row]:
    parameters = list(resnet18().parameters())
    count = sum(p.numel() for p in parameters)
    found = [Row("parameters", 11_173_962, count)]
    epochs = {}
    for rank, published in ((0, 1023), (1, 4), (2, 8), (4, 14)):
        step = run(partial(reduced, parameters, rank), RANKS, net=NET).ranks[1].bytes_sent
        epochs[rank] = step * STEPS / 2**20
        what = f"rank {rank}" if rank else "SGD"
        near = 0.5 / published  # printed without digits
        found.append(Row(f"{what}, an epoch", published, epochs[rank], near, "MiB"))
    for rank, published in ((1, 243), (2, 136)):
        what, times = f"rank {rank}: how many times fewer", epochs[0] / epochs[rank]
        found.append(Row(what, published, times, 0.5 / published))
    return found


PAPER = Paper(
    "PowerSGD: bytes of an epoch of ResNet-18 on CIFAR-10",
    "T. Vogels et al., NeurIPS 2019, arXiv:1905.13727, table of ranks",
    "The hook reduces gradients of the real shapes between two ranks, of whom each sends each number "
    "once. Right to the last digit that is printed. The paper's MB are MiB, and 50,000 images make 24 "
    "whole steps of 2048. Accuracy and time are not checked.",
    rows,
)
