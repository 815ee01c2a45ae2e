"""SyncBatchNorm on parts of a batch is BatchNorm on the whole."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import minitorch_dist as mtd
from minitorch_dist import nn
from tests.parallel.models import DDP, on_ranks

SHAPES = [(13, 3), (13, 3, 2), (7, 3, 2, 2)]
LAYERS: Any = {2: nn.BatchNorm1d, 3: nn.BatchNorm1d, 4: nn.BatchNorm2d}


def batch(shape: tuple[int, ...]) -> np.ndarray:
    return np.random.default_rng(0).standard_normal(shape) * 3 + 1


def run(layer: Any, x: Any, weights: Any) -> list[Any]:
    x.requires_grad_()
    out = layer(x)
    (out * weights).sum().backward()
    return [out.detach().numpy(), x.grad.numpy()]


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("told", [{}, {"affine": False}, {"momentum": None}, {"track_running_stats": False}], ids=str)
@pytest.mark.parametrize("size", [1, 2, 3, 8])
def test_parts_are_the_whole(size: int, told: dict[str, Any], shape: tuple[int, ...]) -> None:
    whole, factors = batch(shape), np.cos(np.arange(np.prod(shape))).reshape(shape)
    plain = LAYERS[len(shape)](3, **told).double()
    expected = run(plain, mtd.from_numpy(whole.copy()), mtd.from_numpy(factors))

    def act(rank: int, size: int) -> Any:
        layer = nn.SyncBatchNorm(3, **told).double()
        ends = [shape[0] * r // size for r in range(size + 1)]  # uneven, and empty where size > n
        part = slice(ends[rank], ends[rank + 1])
        found = run(layer, mtd.from_numpy(whole[part].copy()), mtd.from_numpy(factors[part]))
        grads = [p.grad.numpy() for p in layer.parameters()]
        return found, grads, {n: b.numpy() for n, b in layer.named_buffers()}

    ranks = on_ranks(size, act)
    for number in (0, 1):
        together = np.concatenate([found[number] for found, _, _ in ranks])
        np.testing.assert_allclose(together, expected[number], rtol=1e-9, atol=1e-10)
    for number, p in enumerate(plain.parameters()):
        total = sum(grads[number] for _, grads, _ in ranks)
        np.testing.assert_allclose(total, p.grad.numpy(), rtol=1e-9, atol=1e-9)
    for _, _, buffers in ranks:
        for name, buffer in plain.named_buffers():
            np.testing.assert_allclose(buffers[name], buffer.numpy(), rtol=1e-9)


def test_evaluation_needs_nobody_else() -> None:
    def act(rank: int, size: int) -> Any:
        layer = nn.SyncBatchNorm(2).eval()
        return layer(mtd.ones(1, 2)).tolist() if rank == 0 else None

    found = on_ranks(2, act)
    np.testing.assert_allclose(found[0], [[1.0, 1.0]], rtol=1e-4)


def test_converting_keeps_tensors_and_mode() -> None:
    model = nn.Sequential(nn.Linear(2, 3), nn.Sequential(nn.BatchNorm1d(3, eps=0.1).eval()))
    weight = model[1][0].weight
    converted = nn.SyncBatchNorm.convert_sync_batchnorm(model)
    assert converted is model
    assert isinstance(model[1][0], nn.SyncBatchNorm)
    assert model[1][0].weight is weight
    assert not model[1][0].training
    assert model[1][0].eps == 0.1
    single = nn.SyncBatchNorm.convert_sync_batchnorm(nn.BatchNorm2d(4))
    assert isinstance(single, nn.SyncBatchNorm)


def test_within_ddp() -> None:
    whole = mtd.from_numpy(batch((12, 2)))

    def network() -> Any:
        mtd.manual_seed(0)
        return nn.Sequential(nn.Linear(2, 3), nn.BatchNorm1d(3), nn.Linear(3, 1)).double()

    plain = network()
    optimizer = mtd.optim.SGD(plain.parameters(), lr=0.1)
    for _ in range(3):
        optimizer.zero_grad()
        plain(whole).square().mean().backward()
        optimizer.step()

    def act(rank: int, size: int) -> Any:
        model = DDP(nn.SyncBatchNorm.convert_sync_batchnorm(network()))
        own = whole[rank * 12 // size : (rank + 1) * 12 // size]
        optimizer = mtd.optim.SGD(model.parameters(), lr=0.1)
        for _ in range(3):
            optimizer.zero_grad()
            model(own).square().mean().backward()
            optimizer.step()
        return [v.numpy() for v in model.module.state_dict().values()]

    for found in on_ranks(3, act):
        for ours, value in zip(found, plain.state_dict().values(), strict=True):
            np.testing.assert_allclose(ours, value.numpy(), rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("shape", [(3,), (2, 5)])
def test_wrong_shapes(shape: tuple[int, ...]) -> None:
    errors = on_ranks(2, lambda rank, size: nn.SyncBatchNorm(3)(mtd.ones(*shape)))
    assert all(isinstance(error, (ValueError, RuntimeError)) for error in errors)


def test_one_value_has_no_variance() -> None:
    errors = on_ranks(2, lambda rank, size: nn.SyncBatchNorm(3)(mtd.ones(1 - rank, 3)))
    assert all("more than 1 value" in str(error) for error in errors)
