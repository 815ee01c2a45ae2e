"""Orders are data: proved, timed against the papers' formulas, and drawn, without a network."""

from __future__ import annotations

from fractions import Fraction

import pytest
from hypothesis import given, strategies as st

from minitorch_dist.distributed.pipelining.orders import (
    ORDERS,
    Action,
    B,
    F,
    I,
    Order,
    Pipe,
    W,
    everyones,
    faults,
    gpipe,
    one_forward_one_backward,
)
from minitorch_dist.distributed.pipelining.pictures import drawn
from minitorch_dist.distributed.pipelining.timing import Stuck, times

ANY = st.sampled_from(sorted(ORDERS))


def pipes(name: str, ranks: int, factor: int, local: int) -> Pipe:
    """A pipe that this order is made for."""
    if name in ("gpipe", "1f1b"):
        return Pipe(ranks, factor)
    return Pipe(ranks, factor * ranks, local)


@given(ANY, st.integers(1, 9), st.integers(1, 9), st.integers(1, 4))
def test_every_order_is_right_and_comes_to_an_end(name: str, ranks: int, factor: int, local: int) -> None:
    pipe = pipes(name, ranks, factor, local)
    orders = everyones(ORDERS[name], pipe)
    assert list(faults(orders, pipe)) == []
    timing = times(orders, pipe, link=3)
    assert all(timing.in_flight(rank) >= 1 for rank in range(ranks))


@given(st.integers(1, 16), st.integers(1, 64))
def test_bubbles_of_gpipe_and_1f1b(ranks: int, microbatches: int) -> None:
    pipe = Pipe(ranks, microbatches)
    for make in (gpipe, one_forward_one_backward):
        assert times(everyones(make, pipe), pipe).bubble == Fraction(ranks - 1, microbatches)
    timing = times(everyones(gpipe, pipe), pipe)
    assert {timing.in_flight(rank) for rank in range(ranks)} == {microbatches}
    timing = times(everyones(one_forward_one_backward, pipe), pipe)
    for rank in range(ranks):
        assert timing.in_flight(rank) == min(microbatches, ranks - rank)


@given(st.integers(1, 9), st.integers(1, 5), st.integers(1, 4))
def test_bubbles_of_interleaved_orders(ranks: int, factor: int, local: int) -> None:
    pipe = Pipe(ranks, factor * ranks, local)
    expected = Fraction(ranks - 1, local * pipe.microbatches)
    for name in ("interleaved", "looped_bfs"):
        assert times(everyones(ORDERS[name], pipe), pipe).bubble == expected
    # backward in two parts of equal cost: a third of the bubble is left
    assert times(everyones(ORDERS["zero_bubble"], pipe), pipe).bubble == expected / 3


def test_faults_are_named() -> None:
    pipe = Pipe(2, 2)
    right = everyones(gpipe, pipe)

    def found(rank: int, order: Order) -> str:
        return "; ".join(faults([order if r == rank else right[r] for r in range(2)], pipe))

    assert found(0, right[0][1:]) == ("rank 0: 0B0 stands before 0F0; micro-batch 0 on stage 0 goes forward 0 times")
    assert "goes backward 2 times whole" in found(1, [*right[1], Action(1, B, 1)])
    assert "stage 1 is on rank 1" in found(0, [*right[0], Action(1, F, 0)])
    assert "1F2, but the last micro-batch is 1" in found(1, [*right[1], Action(1, F, 2)])
    assert "0 times whole, 1 + 0 in parts" in found(0, [*right[0][:-1], Action(0, I, 1)])
    assert "stands before" in found(0, [*right[0][:-1], Action(0, W, 1), Action(0, I, 1)])


def test_orders_that_wait_for_each_other_are_named() -> None:
    pipe = Pipe(2, 2)
    first, second = everyones(gpipe, pipe)
    first = [first[0], first[2], first[1], first[3]]  # wants a gradient before it has sent enough
    with pytest.raises(Stuck, match=r"rank 0 waits in 0B0 for 1B0; rank 1 waits in 1F1 for 0F1"):
        times([first, second], pipe)


def test_the_picture() -> None:
    pipe = Pipe(3, 4)
    timing = times(everyones(one_forward_one_backward, pipe), pipe)
    assert drawn(timing).splitlines() == [
        "rank 0 │ 0  1  2  ·  ·  ·  · (0)(0) 3 (1)(1) · (2)(2) · (3)(3)",
        "rank 1 │ ·  0  1  ·  · (0)(0) 2 (1)(1) 3 (2)(2) · (3)(3) ·  · ",
        "rank 2 │ ·  ·  0 (0)(0) 1 (1)(1) 2 (2)(2) 3 (3)(3) ·  ·  ·  · ",
    ]
    assert all(len(line) == 40 for line in drawn(timing, 40).splitlines())
