"""P2: the largest model whose training state fits into 32 GB, from the bytes the ledger counts."""

from __future__ import annotations

from collections.abc import Sequence

from minitorch_dist.sim.runner import run
from mtd.papers.paper import Row, published_rows
from mtd.papers.zero_memory import STAGES, held

MEMORY, RANKS = 32, 64  # GB of a device, data-parallel ranks
NAMES = ("data parallel", *STAGES)


def rows() -> Sequence[Row]:
    each = [max(run(held, 1, (1,)).results)]  # one rank alone cuts nothing
    each += [max(run(held, RANKS, (stage,)).results) for stage in (1, 2, 3)]
    found = []
    for devices, *published in published_rows("zero_largest"):
        for name, printed, nbytes in zip(NAMES, published, each, strict=True):
            near = 0.01 if printed < 1000 else 0.025  # printed as 1T and 2T
            found.append(Row(f"{name}, MP={devices}", printed, MEMORY * devices / nbytes, near, "B"))
    return found
