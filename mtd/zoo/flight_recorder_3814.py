"""One rank does not come: it is busy with something else for ever.

Symptom: all others time out in an all_reduce, and each says that *it* waited. Which rank did not join,
and where it is instead, has to be put together from the recordings of all (torch's flight recorder;
this is the example of its tutorial).
"""

from __future__ import annotations

import time

import minitorch_dist as torch
from minitorch_dist import distributed as dist, sim

PROGRAM = True  # the lines that errors name are those in here
ADDRESS = "https://github.com/pytorch/tutorials/pull/3814"
RANKS, CULPRITS = 4, (2,)


def train(pause: float) -> None:
    x = torch.ones(100)
    for step in range(5):
        sim.compute("2ms")
        if step == 3 and dist.get_rank() == 2:
            time.sleep(pause)  # noqa: TID251 - the bug: a reader that waits for a file server
        dist.all_reduce(x)


def hang() -> None:
    train(pause=1e6)


def repaired() -> None:
    train(pause=60)
