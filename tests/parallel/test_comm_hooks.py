"""Communication hooks: what they send, and that what comes back is (nearly) the average."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest

import minitorch_dist as mtd
import minitorch_dist.distributed as dist
from minitorch_dist import nn
from minitorch_dist.distributed import collectives
from minitorch_dist.distributed.algorithms.ddp_comm_hooks import (
    default_hooks as default,
    powerSGD_hook as power,
)
from minitorch_dist.distributed.grad_bucket import GradBucket
from minitorch_dist.models.resnet import resnet18
from minitorch_dist.tensors.core import base
from minitorch_dist.tensors.tensor import Tensor
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


HOOKS: dict[str, tuple[Any, float]] = {
    "allreduce": (default.allreduce_hook, 1e-6),
    "fp16": (default.fp16_compress_hook, 2e-3),
    "bf16": (default.bf16_compress_hook, 2e-2),
    "wrapped fp16": (default.fp16_compress_wrapper(default.allreduce_hook), 2e-3),
}


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
    on_ranks(2, lambda rank, _: train(rank, default.fp16_compress_hook, None, steps=1))
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
            state.append((bucket.index(), bucket.is_last(), bucket.buffer().numel(),
                          [tuple(p.shape) for p in bucket.parameters()],
                          [tuple(g.shape) for g in bucket.gradients()]))  # fmt: skip
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
    assert [(index, last, count) for index, last, count, *_ in first[0]] == [(0, False, 3), (1, True, 6)]  # fmt: skip


@pytest.mark.parametrize(
    ("hook", "kind"),
    [(3, TypeError), (lambda state, bucket: None, type(None))],
    ids=["number", "function"],
)
def test_what_is_no_hook(hook: Any, kind: type) -> None:
    def act(rank: int, size: int) -> Any:
        model = DDP(scalar())
        return model.register_comm_hook(None, hook)

    assert isinstance(on_ranks(1, act)[0], kind)


def test_hooks_are_registered_once_and_their_notes_are_read() -> None:
    def wrong(state: Any, bucket: int) -> Any: ...

    def act(rank: int, size: int) -> Any:
        model = DDP(scalar())
        with pytest.raises(ValueError, match=r"bucket annotation should be dist\.GradBucket"):
            model.register_comm_hook(None, wrong)
        model.register_comm_hook(None, default.allreduce_hook)
        with pytest.raises(RuntimeError, match="only be called once"):
            model.register_comm_hook(None, default.allreduce_hook)
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


@pytest.mark.parametrize("kind", list(dist.BuiltinCommHookType), ids=str)
def test_builtin_hooks(kind: Any) -> None:
    def act(rank: int, size: int) -> Any:
        model = DDP(scalar())
        model._register_builtin_comm_hook(kind)
        model(mtd.full((1, 1), rank + 1.0)).sum().backward()
        return model.module.weight.grad.item()

    assert on_ranks(3, act) == [pytest.approx(2.0, rel=1e-3)] * 3


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


# -------------------------------------------------------------------------------------- PowerSGD


@pytest.mark.parametrize("size", [1, 2, 3])
def test_power_sgd_keeps_ranks_equal_and_errors_bounded(size: int) -> None:
    def act(rank: int, size: int) -> Any:
        state = power.PowerSGDState(None, 2, start_powerSGD_iter=2, min_compression_rate=1)
        found = train(rank, power.powerSGD_hook, state, steps=8)
        return found[0], sorted(state.error_dict)

    found = on_ranks(size, act)
    for ours, errors in found:
        assert all(np.array_equal(a, b) for a, b in zip(ours, found[0][0], strict=True))
        assert errors == [0, 1]


def test_a_matrix_of_low_rank_comes_back_whole() -> None:
    def act(rank: int, size: int) -> Any:
        rng = np.random.default_rng(0)
        left, right = rng.standard_normal((30, 2)), rng.standard_normal((2, 20))
        matrix = (left * (rank + 1)) @ right  # all ranks' sum has rank 2 as well
        bias = rng.standard_normal(5) * (rank + 1)
        flat = np.concatenate([matrix.reshape(-1), bias])
        parameters = [base.new(Tensor, np.zeros((30, 20))), base.new(Tensor, np.zeros(5))]
        state = power.PowerSGDState(None, 2, start_powerSGD_iter=2, warm_start=False)
        state.iter = 2
        bucket = GradBucket(0, base.new(Tensor, flat.copy()), [], parameters, True)
        found = power.powerSGD_hook(state, bucket).wait().numpy()
        np.testing.assert_allclose(found, flat / (rank + 1) * (size + 1) / 2, rtol=1e-9, atol=1e-9)
        return float(np.abs(state.error_dict[0][600:]).max())

    for size in (1, 2, 3):
        assert on_ranks(size, act) == [0.0] * size  # a vector's average leaves no error


def test_the_error_is_added_to_the_next_gradient() -> None:
    rng = np.random.default_rng(1)
    matrix = rng.standard_normal((16, 16))
    state = power.PowerSGDState(None, 1, start_powerSGD_iter=2)
    state.iter = 2

    def act(rank: int, size: int) -> Any:
        total = np.zeros((16, 16))
        for _ in range(60):
            bucket = GradBucket(
                0, base.new(Tensor, matrix.reshape(-1).copy()), [],
                [base.new(Tensor, matrix)], True,
            )  # fmt: skip
            total += power.powerSGD_hook(state, bucket).wait().numpy().reshape(16, 16)
        return total / 60

    (mean,) = on_ranks(1, act)
    assert np.abs(mean - matrix).max() < 0.5
    assert np.linalg.norm(mean - matrix) < 0.25 * np.linalg.norm(matrix)


@pytest.mark.parametrize(("rank", "mib"), [(1, 4.21), (2, 7.53), (4, 14.18)])
def test_bytes_of_the_paper_for_resnet18(
    rank: int, mib: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Vogels et al., table of ResNet18 on CIFAR10: 1023 MB without compression, 4, 8 and 14 with."""
    shapes = [tuple(p.shape) for p in resnet18().parameters()]
    shapes[0], shapes[-2], shapes[-1] = (64, 3, 3, 3), (10, 512), (10,)
    count = sum(int(np.prod(shape)) for shape in shapes)
    assert count == 11_173_962
    sent = spied(monkeypatch)

    def act(_: int, size: int) -> Any:
        state = power.PowerSGDState(None, rank, start_powerSGD_iter=2)
        state.iter = 2
        rng = np.random.default_rng(0)
        flat = base.new(Tensor, rng.standard_normal(count, np.float32))
        parameters = [base.new(Tensor, np.broadcast_to(np.float32(0), shape)) for shape in shapes]
        power.powerSGD_hook(state, GradBucket(0, flat, [], parameters, True)).wait()

    on_ranks(2, act)
    numbers = sum(array.size for array in sent) // 2  # of both ranks
    steps = 24
    assert round(count * 4 * steps / 2**20, 1) == 1023.0
    assert round(numbers * 4 * steps / 2**20, 2) == mib


@pytest.mark.parametrize("told", [{"use_error_feedback": True}, {"warm_start": True}], ids=str)
def test_power_sgd_may_not_begin_before_the_buckets_stand(told: dict[str, Any]) -> None:
    with warnings.catch_warnings(), pytest.raises(ValueError, match="start_powerSGD_iter"):
        power.PowerSGDState(None, start_powerSGD_iter=1, **told)
