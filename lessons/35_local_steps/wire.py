"""Lesson 35 over real wires: each rank goes to a place of its own, all average, and once more in few bytes."""

import local_steps

import minitorch_dist as torch
import minitorch_dist.distributed as dist
from minitorch_dist import nn
from minitorch_dist.optim import SGD

EVERY, TALKS = 2, 3


def program(wire):
    rank, size = dist.get_rank(), dist.get_world_size()
    found = []
    for average in (local_steps.average, local_steps.Rounded()):
        weight = nn.Parameter(torch.zeros(5, dtype=torch.float64))
        # Multiples of P, whose averages are exact: any order of additions gives the same bits.
        place = size * ((torch.arange(5.0, dtype=torch.float64) * 3 + rank) % 7 - 3)
        inner = SGD([weight], lr=0.25)
        optimizer = local_steps.DiLoCo([weight], inner, EVERY, 0.5, 0.5, average)
        for _ in range(EVERY * TALKS):
            inner.zero_grad()
            (0.5 * (weight - place).square().sum()).backward()
            optimizer.step()
            found.append(weight.tolist())
    return found
