"""The pictures, as golden text."""

from __future__ import annotations

import textwrap

from minitorch_dist.distributed.schedules import Schedule, bruck, ring
from minitorch_dist.distributed.schedules.steps import Combine, Exchange, Rank, Steps
from mtd.grids.contributions import of_schedule
from tests.distributed.schedules.all_schedules import every_schedule, roots


def text(picture: str) -> str:
    """A picture as it stands in the code below."""
    return textwrap.dedent(picture).strip("\n")


def test_a_ring_adds_up_and_passes_on() -> None:
    assert str(of_schedule(ring.all_reduce, 3)) == text("""
        ring all_reduce, 3 ranks
                at first    1           2              3              4
        chunk   0 1 2       0  1  2     0   1   2      0   1   2      0   1   2
        rank 0  a a a       a  ac a     abc ac  a      abc ac  abc    abc abc abc
        rank 1  b b b       b  b  ab    b   abc ab     abc abc ab     abc abc abc
        rank 2  c c c       bc c  c     bc  c   abc    bc  abc abc    abc abc abc
    """)


def test_blocks_gather_in_growing_strides() -> None:
    assert str(of_schedule(bruck.all_gather, 3)) == text("""
        bruck all_gather, 3 ranks
                at first    1        2
        chunk   0 1 2       0 1 2    0 1 2
        rank 0  a · ·       a b ·    a b c
        rank 1  · b ·       · b c    a b c
        rank 2  · · c       a · c    a b c
    """)


@every_schedule
def test_every_schedule_can_be_drawn(schedule) -> None:
    for size in (1, 2, 5):
        for root in roots(schedule, size):
            grid = of_schedule(schedule, size, root)
            assert str(schedule) in str(grid) and grid.fault is None


def test_a_matrix_shows_what_a_rank_combines_by_itself() -> None:
    def steps(rank: Rank, size: int) -> Steps:
        yield Exchange(1 - rank, 0, 1 - rank, 1)  # the other's chunk comes into scratch
        yield Combine(0, 1)

    schedule = Schedule("all_reduce", "apart", steps, lambda size: 1)
    assert of_schedule(schedule, 2).steps[-1].cells == [["ab"], ["ab"]]

    def before(rank: Rank, size: int) -> Steps:
        yield Combine(1, 0, reduce=False)
        yield Combine(0, 1)  # twice the same, before any message

    grid = of_schedule(Schedule("all_reduce", "twice", before, lambda size: 1), 2)
    assert grid.steps[-1].cells == [["aa"], ["bb"]]
    assert grid.fault is not None and grid.fault[:3] == (0, 0, 0) and "rank 0 is counted twice" in grid.fault.text
