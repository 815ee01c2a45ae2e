"""Collectives as data: every algorithm once, as a schedule of sends and receives.

    steps  schedule      the parts of a schedule: Send, Receive, Exchange, Combine

There is one file for a family, in the order of learning: `direct`, `ring`, `binomial`,
`recursive_doubling`, `recursive_halving`, `rabenseifner`, `bruck`, `pairwise`, `dissemination`,
`scatter_all_gather`, `chain`, `double_binary_tree`, `hierarchical`, `two_shot`. (`powers` says how to have
a power of two.)

Those of recent papers are in a package of their own, `gallery`. These are derived from all of them:

    replay  values      message by message, all ranks in one thread: the naive form of all else
    everyone            all ranks at once, as an array
    links  ports        what a link costs; clocks and ports of all ranks
    arrivals            the same where messages overtake each other: `overtaking` plays them one by
                        one, `batched_overtaking` all of one instant in one go
    cost  bounds        what a schedule costs, and what none can beat
    proof               each element ends up with every rank's contribution exactly once
    domain              for how many ranks a schedule is right: proved once, and remembered
    schedule_files      schedules that are named by a file, wherever an algorithm is named
    choice              the one that was asked for, or the cheapest on these links
    formulas            what each takes at least, by the textbooks' formulas
    postings            the same steps where ranks share memory
"""

# The order in which schedules are made decides between equals: the direct ones come first.
from minitorch_dist.distributed.schedules import direct

# isort: split
from minitorch_dist.distributed.schedules import (
    binomial,
    bruck,
    chain,
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
