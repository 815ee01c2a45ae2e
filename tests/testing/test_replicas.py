"""Replicas that differ are named, and a wrapper that is not one rank is caught, whatever its mistake."""

from __future__ import annotations

from typing import Any

import pytest

import minitorch_dist.distributed as dist
from minitorch_dist.launching import launch
from minitorch_dist.nn.parallel import DistributedDataParallel as DDP
from minitorch_dist.optim import SGD
from minitorch_dist.testing import check_replicas_equal, check_same_as_one_rank, exact


def drifting(who: dict[int, float]) -> str:
    model = exact.Model()
    model.w2.array[3, 0] += who.get(dist.get_rank(), 0.0)
    try:
        check_replicas_equal(model)
    except AssertionError as error:
        return f"{error}"
    return ""


@pytest.mark.parametrize("size", [1, 2, 3, 5, 8])
def test_equal_replicas_pass(size: int) -> None:
    assert launch(drifting, size, "sim://", args=({},)) == [""] * size


def test_the_parameter_and_the_ranks_that_differ_are_named_on_every_rank() -> None:
    said = launch(drifting, 5, "sim://", args=({1: 2.0**-40, 4: 1.0},))
    assert len({*said}) == 1
    assert "ranks 1 and 4 differ from rank 0 in w2: w2[3, 0] is" in said[0]
    assert "(1 of 16 elements differ)" in said[0]


def test_models_of_other_shapes_are_named() -> None:
    def program() -> None:
        check_replicas_equal(exact.Model(hidden=4 + (dist.get_rank() == 2)))

    with pytest.raises(AssertionError, match=r"as number 0 rank 0 has .'w1'.*and rank 2 has"):
        launch(program, 3, "sim://")


def test_minus_zero_is_not_zero_and_nan_is_nan() -> None:
    def program(values: list[float]) -> None:
        model = exact.Model()
        model.b2.array[0] = values[dist.get_rank()]
        check_replicas_equal(model)

    launch(program, 2, "sim://", args=([float("nan")] * 2,))
    with pytest.raises(AssertionError, match="b2"):
        launch(program, 2, "sim://", args=([0.0, -0.0],))


def stepping(model: Any, batches: list[exact.Data], after: Any = None, ranks: int = 0) -> Any:
    optimizer = SGD(model.parameters(), lr=exact.RATE)
    for batch in batches:
        optimizer.zero_grad()
        loss = exact.loss(model(batch.x), batch.y)
        (loss * float(ranks or dist.get_world_size())).backward()
        if after is not None:
            after(model)
        optimizer.step()
        exact.snap(model.parameters())
    return model


def test_ddp_is_one_rank() -> None:
    check_same_as_one_rank(lambda batches: stepping(DDP(exact.Model()), batches))


def forgets(model: Any) -> None:
    """Averages all but the last parameter."""
    for p in [*model.parameters()][:-1]:
        dist.all_reduce(p.grad)
        p.grad /= dist.get_world_size()


def sums(model: Any) -> None:
    for p in model.parameters():
        dist.all_reduce(p.grad)


@pytest.mark.parametrize("mistake", [forgets, sums])
def test_a_wrapper_that_is_not_one_rank_is_caught(mistake: Any) -> None:
    check_same_as_one_rank(lambda batches: stepping(exact.Model(), batches, mistake), [1])
    with pytest.raises(AssertionError, match=r"ranks: (w1|b2)\[.* on rank 0 and .* on one rank"):
        check_same_as_one_rank(lambda batches: stepping(exact.Model(), batches, mistake))


def test_weights_may_be_returned_as_a_list_and_too_few_are_named() -> None:
    def train(batches: list[exact.Data]) -> Any:
        return exact.weights(stepping(DDP(exact.Model()), batches))

    check_same_as_one_rank(train, [3])
    with pytest.raises(AssertionError, match="returned 1 arrays of weights, where the model has 4"):
        check_same_as_one_rank(lambda batches: train(batches)[:1], [2])


def test_what_one_rank_does_may_be_said() -> None:
    """Other optimizers and losses than the usual ones: here momentum, and the mean of 4 samples."""

    def train(batches: list[exact.Data]) -> Any:
        model = exact.Model()
        wrapped = DDP(model) if dist.is_initialized() else model
        ranks = dist.get_world_size() if dist.is_initialized() else 1
        optimizer = SGD(model.parameters(), lr=exact.RATE, momentum=0.9)
        for batch in batches:
            exact.step(wrapped, optimizer, batch, ranks, scale=0.25)
        return model

    check_same_as_one_rank(train, (1, 3), (4, 4), alone=train)
    with pytest.raises(AssertionError, match="one rank alone"):
        check_same_as_one_rank(train, (3,), (4, 4))
