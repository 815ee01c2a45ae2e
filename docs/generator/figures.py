"""Figures of the pages, made from real runs: `mtd dev build` writes them into docs/figures, and a test compares them.

Schedules and lessons are shown by what each rank holds, step by step. The others are drawn from a journal:

    figure_runs        the programs that are run
    figure_drawing     a run whose time passes, memory over time, a circle of ranks that wait
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Final

import figure_runs as runs
from links import ROOT

from minitorch_dist.distributed.schedules import choice
from mtd.course import checking, lesson
from mtd.course.path import LessonAnswer
from mtd.grids import contributions, grid_svg

FOLDER: Final = ROOT / "docs" / "figures"
GRIDS: Final = {  # the collective, its schedule, and how many ranks
    "tree": ("broadcast", "binomial", 8),
    "halving": ("reduce_scatter", "recursive_halving", 4),
    "doubling": ("all_reduce", "recursive_doubling", 4),
    "all_to_all": ("all_to_all", "pairwise", 4),
    "all_gather": ("all_gather", "ring", 4),
    "reduce_scatter": ("reduce_scatter", "ring", 4),
}
LESSONS: Final = (11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23, 26, 27)  # whose pictures are grids
RUNS: Final[dict[str, Callable[[], str]]] = {
    "virtual_time": runs.virtual_time,
    "journal": runs.journal,
    "first_hang": runs.first_hang,
    "deadlock": runs.deadlock,
    "ddp_overlap": runs.ddp_overlap,
    "fsdp_memory": runs.fsdp_memory,
    "pipelines": runs.pipelines,
    "zero_bubble": runs.zero_bubble,
    "tensor_parallel": runs.tensor_parallel,
    "faults": runs.faults,
}


def figures() -> dict[Path, Callable[[], str]]:
    """Each file, and what makes it."""
    made = {name: partial(of_schedule, *how) for name, how in GRIDS.items()}
    made |= {f"lesson_{number}": partial(of_lesson, number) for number in LESSONS}
    figures = {FOLDER / f"{name}.svg": make for name, make in (made | RUNS).items()}
    return {FOLDER.parent / "ring.svg": partial(of_schedule, "all_reduce", "ring", 4), **figures}


def of_lesson(number: float) -> str:
    """The grid of a lesson's picture, of our solution."""
    one = lesson.find(number)
    with LessonAnswer.ours(one).searched():
        grid = checking.contents(checking.load(one))
    assert grid is not None
    return grid_svg.moving(grid) + "\n"


def of_schedule(collective: str, name: str, ranks: int) -> str:
    root = 0 if collective in contributions.ROOTED else None
    return grid_svg.moving(contributions.of_schedule(choice.named(collective, name), ranks, root)) + "\n"
