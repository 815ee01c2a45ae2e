"""P2: the largest model whose training state fits into 32 GB, from the bytes the ledger counts."""

from __future__ import annotations

from collections.abc import Sequence

from minitorch_dist.sim.runner import run
from mtd.papers.paper import Paper, Row
from mtd.papers.zero_memory import STAGES, held

MEMORY, RANKS = 32, 64  # GB of a device, data-parallel ranks
NAMES = ("data parallel", *STAGES)
PUBLISHED = {  # billions of parameters, by how many devices share each model
    1: (2, 7.6, 14.4, 128), 2: (4, 15.2, 28.8, 256), 4: (8, 30.4, 57.6, 512),
    8: (16, 60.8, 115.2, 1000), 16: (32, 121.6, 230.4, 2000),
}  # fmt: skip


def rows() -> Sequence[Row]:
    each = [max(run(held, 1, (1,)).results)]  # one rank alone cuts nothing
    each += [max(run(held, RANKS, (stage,)).results) for stage in (1, 2, 3)]
    found = []
    for devices, published in PUBLISHED.items():
        for name, printed, nbytes in zip(NAMES, published, each, strict=True):
            near = 0.01 if printed < 1000 else 0.025  # printed as 1T and 2T
            found.append(Row(f"{name}, MP={devices}", printed, MEMORY * devices / nbytes, near, "B"))
    return found


PAPER = Paper(
    "ZeRO: the largest model that fits",
    "S. Rajbhandari et al., ZeRO, SC 2020, arXiv:1910.02054, table 2 (theoretical maximum)",
    "Bytes a parameter as in zero_memory, after a step of 64 simulated ranks; 32 GB devices. Activations "
    "are left out, as in the paper's table; its measured column is not checked.",
    rows,
)
