"""The pictures, as golden text."""

from __future__ import annotations

import textwrap

from minitorch_dist.distributed.schedules import Schedule, binomial, bruck, chain, pictures, ring
from minitorch_dist.distributed.schedules.links import Links
from minitorch_dist.distributed.schedules.steps import Combine, Exchange, Rank, Steps
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


def test_pieces_flow_down_a_chain() -> None:
    assert pictures.space_time(chain.broadcast.with_options(pieces=4), 4) == text("""
        chain broadcast (pieces=4), 4 ranks: 1 column is 1 round

        rank 0  │▒▒▒▒  │
        rank 1  │░███▒ │
        rank 2  │ ░███▒│
        rank 3  │  ░░░░│
    """)


def test_what_is_added_takes_time() -> None:
    links = Links(1_000_000, 80, 80)
    assert pictures.space_time(binomial.reduce, 4, 12_500, links, width=12) == text("""
        binomial reduce, 4 ranks: 6.00 µs in all

        rank 0  │░░░░  ░░░░  │
        rank 1  │▒▒▒▒        │
        rank 2  │░░░░  ▒▒▒▒  │
        rank 3  │▒▒▒▒        │
    """)


def test_messages_by_rounds() -> None:
    assert pictures.messages(binomial.scatter, 5, root=2) == text("""
        binomial scatter, 5 ranks
        round 1   2 ─1► 1
        round 2   2 ─4,0► 4
        round 3   2 ─3► 3   4 ─0► 0
    """)


@every_schedule
def test_every_schedule_can_be_drawn(schedule) -> None:
    for size in (1, 2, 5):
        for root in roots(schedule, size):
            for picture in (pictures.chunk_matrix, pictures.space_time, pictures.messages):
                assert str(schedule) in picture(schedule, size, root=root)


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
