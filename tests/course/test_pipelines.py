"""What the checks of pipelines measure with: held against the library's own orders and stages."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from minitorch_dist.distributed.pipelining import orders
from minitorch_dist.distributed.pipelining.orders import Pipe, everyones
from minitorch_dist.distributed.pipelining.timing import times
from mtd.course import checking, lesson, pipelines
from mtd.course.path import LessonAnswer


@pytest.fixture
def stages() -> Iterator[Any]:
    """Lesson 26, solved."""
    one = lesson.find(26)
    with LessonAnswer.ours(one).searched():
        yield checking.load(one).stages


@pytest.mark.parametrize("name", ["gpipe", "1f1b"])
@pytest.mark.parametrize("pipe", [Pipe(1, 3), Pipe(2, 1), Pipe(3, 5), Pipe(5, 4)])
def test_what_is_measured_is_what_the_order_takes_on_paper(stages: Any, name: str, pipe: Pipe) -> None:
    make = orders.ORDERS[name]
    found, planned = (pipelines.timed(stages.Stage, make, pipe), times(everyones(make, pipe), pipe))
    assert found.timing == planned
    assert found.held == [planned.in_flight(rank) for rank in range(pipe.ranks)]


@pytest.mark.parametrize("ranks", [1, 2, 3, 5])
def test_the_librarys_orders_train_as_one_rank(stages: Any, ranks: int) -> None:
    for make in (orders.gpipe, orders.one_forward_one_backward):
        pipelines.in_the_library(make, ranks, 4)
        pipelines.trained(stages.Stage, make, ranks, 4)


def test_a_micro_batch_that_counts_wrongly_is_named(stages: Any) -> None:
    class Doubles(stages.Stage):  # type: ignore[misc]
        def backward(self, k: int) -> None:
            super().backward(k)
            if k == 2 and self.rank == self.last:  # 0 and 1 are in there already
                for p in self.layers.parameters():
                    p.grad *= 2

    with pytest.raises(
        AssertionError,
        match=r"with 2 stages and 4 micro-batches the gradient of w2 has micro-batch 0 2 times, micro-batch 1 2 times, "
        "micro-batch 2 2 times, where",
    ):
        pipelines.trained(Doubles, orders.gpipe, 2, 4)


def test_scores_are_beside_what_no_order_can_beat() -> None:
    pipe = Pipe(4, 8)
    first, second, third = (pipelines.score(orders.ORDERS[name], pipe) for name in ("gpipe", "1f1b", "zero_bubble"))
    assert (first.time, first.memory) == (33, 8)
    assert (second.time, second.memory) == (33, 4)
    assert second.time > third.time >= third.least_time == 3 * 8 + 3


def test_an_order_that_leaves_something_out_has_no_score() -> None:
    with pytest.raises(ValueError, match="micro-batch 7 on stage 0 goes backward 0 times"):
        pipelines.score(lambda rank, pipe: orders.gpipe(rank, pipe)[:-1], Pipe(1, 8))


def test_silhouettes_are_as_wide_as_the_picture(stages: Any) -> None:
    found = pipelines.timed(stages.Stage, orders.gpipe, Pipe(2, 3))
    rows = pipelines.silhouettes(found, 3)
    assert [len(row) for row in rows] == [3 * found.total] * 2
    assert rows[0].startswith("▂▂▂▅▅▅████") and rows[1].startswith("   ▂▂▂▅▅▅████")


def test_an_order_that_is_none_is_told_in_words() -> None:
    def swapped(rank: int, pipe: Pipe) -> Any:
        return [orders.Action(orders.F, rank, 0)]  # type: ignore[arg-type]

    def bare(rank: int, pipe: Pipe) -> Any:
        return [(rank, "F", 0)]

    def nothing(rank: int, pipe: Pipe) -> Any:
        pass

    assert pipelines.orders_of(orders.gpipe, Pipe(3, 2)) == everyones(orders.gpipe, Pipe(3, 2))
    for make, said in (
        (swapped, r"swapped\(0, Pipe\(3, 2\)\) has Action\(F, 0, 0\): a stage, then F or B"),
        (bare, r"has \(0, 'F', 0\) in it, expected an Action"),
        (nothing, "is None, expected a list of actions"),
    ):
        with pytest.raises(AssertionError, match=said):
            pipelines.orders_of(make, Pipe(3, 2))
