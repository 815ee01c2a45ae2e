"""Communication hooks: what they send, and that what comes back is (nearly) the average."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import minitorch_dist as mtd
import minitorch_dist.distributed as dist
from minitorch_dist import nn
from minitorch_dist.distributed import collectives
from tests.parallel.models import DDP, on_ranks, scalar, weights


def network() -> Any:
    mtd.manual_seed(5)
    return nn.Sequential(nn.Linear(12, 16), nn.Tanh(), nn.Linear(16, 12))


def train(rank: int, hook: Any, state: Any, steps: int = 3) -> tuple[list[Any], list[Any]]:
    model = DDP(network(), bucket_cap_mb=5e-4)
    if hook is not None:
        model.register_comm_hook(state, hook)
    optimizer = mtd.optim.SGD(model.parameters(), lr=0.05)
    for number in range(steps):
        mtd.manual_seed(10 * number + rank)
        optimizer.zero_grad()
        model(mtd.randn(4, 12)).square().mean().backward()
        optimizer.step()
    return weights(model), [p.grad.numpy().copy() for p in model.parameters()]


def averaged(tensor: Any) -> Any:
    work = dist.all_reduce(tensor.div_(dist.get_world_size()), async_op=True)
    assert work is not None
    return work.get_future().then(lambda future: future.value()[0])


def average(_: Any, bucket: Any) -> Any:
    return averaged(bucket.buffer())


def in_halves(_: Any, bucket: Any) -> Any:
    """Half the bytes; each value is rounded to 11 bits before it is added up."""
    buffer = bucket.buffer()
    return averaged(buffer.to(mtd.float16)).then(lambda future: buffer.copy_(future.value()))


HOOKS: dict[str, tuple[Any, float]] = {"average": (average, 1e-6), "halves": (in_halves, 2e-3)}


@pytest.mark.parametrize("name", HOOKS)
@pytest.mark.parametrize("size", [1, 2, 3])
def test_hooks_come_close_to_the_average(name: str, size: int) -> None:
    hook, tolerance = HOOKS[name]
    found = on_ranks(size, lambda rank, _: train(rank, hook, None))
    plain = on_ranks(size, lambda rank, _: train(rank, None, None))
    largest = max(float(np.abs(g).max()) for g in plain[0][1])
    for (ours, grads), (_, expected) in zip(found, plain, strict=True):
        assert all(np.array_equal(a, b) for a, b in zip(ours, found[0][0], strict=True))
        for a, b in zip(grads, expected, strict=True):
            np.testing.assert_allclose(a, b, atol=tolerance * largest)


def test_half_the_bytes_are_sent(monkeypatch: pytest.MonkeyPatch) -> None:
    sent = spied(monkeypatch)
    on_ranks(2, lambda rank, _: train(rank, in_halves, None, steps=1))
    halves = [array for array in sent if array.dtype == np.float16]
    assert sum(array.size for array in halves) == 2 * sum(p.numel() for p in network().parameters())


def spied(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """The arrays that are handed to all_reduce from now on."""
    seen: list[Any] = []
    real = collectives.all_reduce

    def spy(group: Any, array: Any, *rest: Any, **more: Any) -> Any:
        seen.append(array)
        return real(group, array, *rest, **more)

    monkeypatch.setattr(collectives, "all_reduce", spy)
    return seen


def test_a_hook_of_ones_own_is_handed_what_torch_hands() -> None:
    def act(rank: int, size: int) -> Any:
        seen: list[Any] = []

        def hook(state: list[Any], bucket: dist.GradBucket) -> mtd.futures.Future[mtd.Tensor]:
            state.append(
                (
                    bucket.index(),
                    bucket.is_last(),
                    bucket.buffer().numel(),
                    [tuple(p.shape) for p in bucket.parameters()],
                    [tuple(g.shape) for g in bucket.gradients()],
                )
            )
            work = dist.all_reduce(bucket.buffer(), async_op=True)
            assert work is not None
            return work.get_future().then(lambda future: future.value()[0] / size)

        model = DDP(nn.Linear(2, 3), bucket_cap_mb=1e-6)
        model.register_comm_hook(seen, hook)
        for _ in range(2):
            model.zero_grad()
            model(mtd.ones(1, 2) * (rank + 1)).sum().backward()
        return seen[1:], model.module.weight.grad.tolist()

    first, second = on_ranks(2, act)
    assert first == second
    assert first[1] == [[1.5, 1.5]] * 3
    assert [(index, last, count) for index, last, count, *_ in first[0]] == [(0, False, 3), (1, True, 6)]


@pytest.mark.parametrize(
    ("hook", "kind"), [(3, TypeError), (lambda state, bucket: None, type(None))], ids=["number", "function"]
)
def test_what_is_no_hook(hook: Any, kind: type) -> None:
    def act(rank: int, size: int) -> Any:
        model = DDP(scalar())
        return model.register_comm_hook(None, hook)

    assert isinstance(on_ranks(1, act)[0], kind)


def test_hooks_are_registered_once() -> None:
    def act(rank: int, size: int) -> Any:
        model = DDP(scalar())
        model.register_comm_hook(None, average)
        with pytest.raises(RuntimeError, match="only be called once"):
            model.register_comm_hook(None, average)
        return "fine"

    assert on_ranks(1, act) == ["fine"]


def test_an_error_in_a_hook_leaves_no_gradient_behind() -> None:
    def broken(state, bucket):  # type: ignore[no-untyped-def]
        raise KeyError("in the hook")

    def act(rank: int, size: int) -> Any:
        model = DDP(scalar())
        model.register_comm_hook(None, broken)
        with pytest.raises(KeyError, match="in the hook"):
            model(mtd.ones(1, 1)).sum().backward()
        return model.module.weight.grad

    assert on_ranks(2, act) == [None, None]


def test_a_callback_that_calls_a_collective_is_told_not_to() -> None:
    def twice(state, bucket):  # type: ignore[no-untyped-def]
        work = dist.all_reduce(bucket.buffer(), async_op=True)
        return work.get_future().then(lambda future: dist.all_reduce(future.value()[0]))

    def act(rank: int, size: int) -> Any:
        model = DDP(scalar())
        model.register_comm_hook(None, twice)
        model(mtd.ones(1, 1)).sum().backward()

    for error in on_ranks(2, act, transport="sim://"):  # the worker runs while the rank waits
        assert "all_reduce was called by a callback" in str(error)
