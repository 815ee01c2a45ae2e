"""The pictures, as golden text."""

from __future__ import annotations

import textwrap

from minitorch_dist.distributed.schedules import Schedule, bruck, ring
from minitorch_dist.distributed.schedules.steps import Combine, Exchange, Rank, Steps
from mtd.cli import schedule_pictures as pictures
from tests.distributed.schedules.all_schedules import every_schedule, roots


def text(picture: str) -> str:
    """A picture as it stands in the code below."""
    return textwrap.dedent(picture).strip("\n")


def test_a_ring_adds_up_and_passes_on() -> None:
    assert pictures.chunk_matrix(ring.all_reduce, 3) == text("""
        ring all_reduce, 3 ranks

                 at first   1        2        3        4
        rank 0   0 0 0      0 02 0   * 02 0   * 02 *   * * *
        rank 1   1 1 1      1 1 01   1 * 01   * * 01   * * *
        rank 2   2 2 2      12 2 2   12 2 *   12 * *   * * *
    """)


def test_blocks_gather_in_growing_strides() -> None:
    assert pictures.chunk_matrix(bruck.all_gather, 3) == text("""
        bruck all_gather, 3 ranks

                 at first   1       2
        rank 0   0 · ·      0 1 ·   0 1 2
        rank 1   · 1 ·      · 1 2   0 1 2
        rank 2   · · 2      0 · 2   0 1 2
    """)


@every_schedule
def test_every_schedule_can_be_drawn(schedule) -> None:
    for size in (1, 2, 5):
        for root in roots(schedule, size):
            assert str(schedule) in pictures.chunk_matrix(schedule, size, root=root)


def test_a_matrix_shows_what_a_rank_combines_by_itself() -> None:
    def steps(rank: Rank, size: int) -> Steps:
        yield Exchange(1 - rank, 0, 1 - rank, 1)  # the other's chunk comes into scratch
        yield Combine(0, 1)

    schedule = Schedule("all_reduce", "apart", steps, lambda size: 1)
    matrix = pictures.chunk_matrix(schedule, 2)
    assert [line.split()[-1] for line in matrix.splitlines()[3:]] == ["*", "*"]

    def before(rank: Rank, size: int) -> Steps:
        yield Combine(1, 0, reduce=False)
        yield Combine(0, 1)  # twice the same, before any message

    matrix = pictures.chunk_matrix(Schedule("all_reduce", "twice", before, lambda size: 1), 2)
    assert [line.split()[-1] for line in matrix.splitlines()[3:]] == ["00", "11"]
