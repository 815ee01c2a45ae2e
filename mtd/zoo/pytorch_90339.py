"""One rank raises; the others wait for it.

Symptom: a failing test of torch's threaded process group hung until the timeout of the whole suite. The
waiting ranks did not learn that one had failed.
"""

from __future__ import annotations

import minitorch_dist as torch
from minitorch_dist import distributed as dist

PROGRAM = True  # the lines that errors name are those in here
ADDRESS = "https://github.com/pytorch/pytorch/pull/90339"
RANKS, CULPRITS = 4, (1,)


def check(expected: float) -> None:
    x = torch.ones(3)
    dist.all_reduce(x)
    if dist.get_rank() == 1:
        assert float(x[0].item()) == expected, "the sum"  # the bug: it leaves the others alone
    dist.all_reduce(x)


def hang() -> None:
    check(expected=3.0)


def repaired() -> None:
    check(expected=float(dist.get_world_size()))
