"""Lesson 01: one ring that leaves no rank out."""

import neighbour

import minitorch_dist as torch
from minitorch_dist.testing import check_collective
from minitorch_dist.testing.verdict import Verdict
from mtd.course import lab, lamp

SIZES = (4, 1, 2, 3, 5, 6, 7, 8)  # first the one that the lesson draws


@lamp("one ring")
def one_ring():
    """Steps to the right, from rank 0, visit every rank and come back."""
    for size in SIZES:
        met, rank = [], 0
        while rank not in met:
            met.append(rank)
            following = neighbour.right_of(rank, size)
            assert hasattr(following, "__index__"), (
                f"right_of({rank}, {size}) is {following!r}, of type {type(following).__name__}, "
                "and a rank is a whole number (int)"
            )
            assert following in range(size), (
                f"right_of({rank}, {size}) is {following!r}, but the ranks are "
                + (f"0 to {size - 1}" if size > 1 else "only 0: a single rank is its own neighbour")
            )
            rank = following
        way = " → ".join(str(place) for place in [*met, rank])
        assert rank == 0, (
            f"{size} ranks: going right from rank 0, you never come back to it: {way} …"
        )
        assert len(met) == size, (
            f"{size} ranks: going right leaves {left_out(met, size)} out: {way}"
        )
    order = [neighbour.right_of(rank, 4) for rank in range(4)]
    assert order == [1, 2, 3, 0], (
        f"to the right of 0, 1, 2, 3 are 1, 2, 3, 0; right_of gives {order}"
    )


def left_out(met, size):
    missing = [rank for rank in range(size) if rank not in met]
    return f"rank{'s' * (len(missing) > 1)} {' and '.join(map(str, missing))}"


@lamp("correct", "exactly once", "never stuck")
def kept():
    """1 to 8 ranks, if everybody has one neighbour on each side: else nothing is tried."""
    if not all(is_possible(size) for size in SIZES):
        return Verdict("all_reduce")
    return check_collective(neighbour.all_reduce, sizes=SIZES)


def is_possible(size):
    order = [neighbour.right_of(rank, size) for rank in range(size)]
    if not all(hasattr(right, "__index__") for right in order):
        return False
    nobody_is_alone = size == 1 or all(rank != right for rank, right in enumerate(order))
    return sorted(order) == list(range(size)) and nobody_is_alone


def messages_of_four():
    return lab.meter(neighbour.all_reduce, 4, 1).messages


def rounds_of_eight():
    return lab.meter(neighbour.all_reduce, 8, 1).rounds


def picture():
    """Three rounds of four messages."""
    return lab.scene(lambda: neighbour.all_reduce(torch.ones(1)), 4)
