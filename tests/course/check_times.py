"""`mtd bench lessons`: what each lesson's check takes, beside a yardstick that is timed in turn with it.

Seconds of one machine say little about another, and those of a loaded machine nothing. So each check of a
solution is divided by a fixed piece of the same kind of work. This piece is small all-reduces of eight
simulated ranks. Their processor time is measured before and after the check. `plan` is what lesson.toml
allows, in seconds of a machine on which the yardstick takes YARDSTICK seconds; `share` is how much of it
the check takes, on any machine. Both take one thread (`OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1`).
"""

from __future__ import annotations

import sys
from pathlib import Path
from statistics import median
from time import process_time

from rich.console import Console

from minitorch_dist import sim
from minitorch_dist.distributed import collectives, world
from minitorch_dist.tensors.makers.creation import ones
from mtd.cli import page
from mtd.cli.parser import Parser
from mtd.course import checking, lesson
from mtd.course.lesson import Lesson, LessonError
from mtd.course.path import LessonAnswer
from transports import keeper

ROUNDS = 200
YARDSTICK = 0.17  # seconds of processor time, where lesson.toml's seconds were written


def yardstick() -> float:
    """Seconds of processor time for a fixed piece of simulation."""
    begun = process_time()
    sim.run(_sums, 8)
    return process_time() - begun


def _sums() -> None:
    group = world.current().default_group
    for _ in range(ROUNDS):
        collectives.all_reduce(group, ones(10).numpy())


def measured(one: Lesson, times: int) -> tuple[float, float]:
    """Seconds of the check of a lesson's solution, and the same in yardsticks: the medians."""
    seconds, ratios = [], []
    for _ in range(times):
        before = yardstick()
        with keeper.temporary_folder("mtd-bench-") as folder:
            own = Path(folder)
            (own / one.file).write_text(one.source.solution(), encoding="utf-8")
            verdict = checking.check(LessonAnswer(one, own))
        seconds.append(verdict.seconds)
        ratios.append(2 * verdict.seconds / (before + yardstick()))
    return median(seconds), median(ratios)


def main(arguments: list[str] | None = None) -> int:
    parser = Parser("mtd bench lessons", description=__doc__)
    parser.takes("""
        --lesson N...           only this one; may be repeated
        --rounds|--times N: int = 3  checks of each; the median counts
    """)
    options = parser.parse_args(arguments)
    try:
        chosen = [*map(lesson.find, options.lesson)] if options.lesson else lesson.all_lessons()
    except LessonError as error:
        parser.error(str(error))
    table = page.table("lesson", "seconds", "yardsticks", "plan", "share", left=["lesson"])
    yardstick()  # the first one imports
    late = []
    for one in chosen:
        seconds, ratio = measured(one, max(options.rounds, 1))
        share = ratio * YARDSTICK / one.seconds
        late += [one.folder.name] * (share > 1)
        table.add_row(one.folder.name, f"{seconds:.2f}", f"{ratio:.1f}", f"{one.seconds:g}", f"{share:.2f}")
    terminal = Console(highlight=False)
    terminal.print(page.fitting(table, terminal))
    if late:
        terminal.print(f"more than their plan: {', '.join(late)}")
    return 1 if late else 0


if __name__ == "__main__":
    sys.exit(main())
