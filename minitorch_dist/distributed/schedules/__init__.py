"""Collectives as data: every algorithm once, as a schedule of sends and receives.

One file per family, in the order of learning: `direct`, `ring`, `binomial`, `recursive_doubling`,
`recursive_halving`, `rabenseifner`, `bruck`, `pairwise`, `dissemination`, `scatter_all_gather`,
`chain`, `double_binary_tree`, `hierarchical`, `two_shot`. What is derived from them: `replay` (message by
message), `cost`, `proof`, `choice`.
"""

from minitorch_dist.distributed.schedules import (
    binomial,
    bruck,
    chain,
    direct,
    dissemination,
    double_binary_tree,
    hierarchical,
    pairwise,
    rabenseifner,
    recursive_doubling,
    recursive_halving,
    ring,
    scatter_all_gather,
    two_shot,
)
from minitorch_dist.distributed.schedules.schedule import BUILT_IN, Schedule, ScheduleError

__all__ = [
    "BUILT_IN", "Schedule", "ScheduleError", "binomial", "bruck", "chain", "direct", "dissemination",
    "double_binary_tree", "hierarchical", "pairwise", "rabenseifner", "recursive_doubling",
    "recursive_halving", "ring", "scatter_all_gather",
    "two_shot",
]  # fmt: skip
