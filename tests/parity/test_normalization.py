"""Normalisation layers against torch's: values, gradients, running statistics, refusals."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import minitorch_dist as mtd
from tests.parity.compare import same

pytestmark = pytest.mark.parity

SHAPES = [(4, 3, 5, 6), (4, 3, 7), (6, 3), (2, 3, 2, 3, 2), (1, 3, 4, 4), (2, 3, 1, 1)]
EXACT = {"rtol": 1e-7, "atol": 1e-9}


def draw(*shape: int, mean: float = 0.5, dtype: Any = np.float64) -> np.ndarray[Any, Any]:
    x = np.random.default_rng(7).standard_normal(shape) * 1.5 + mean
    return x.astype(dtype)


def parameters(size: Any) -> tuple[Any, Any]:
    rng = np.random.default_rng(8)
    return rng.uniform(0.5, 1.5, size), rng.standard_normal(size)


@pytest.mark.parametrize("affine", ["both", "weight", "bias", "none"])
@pytest.mark.parametrize("shape", SHAPES)
def test_batch_norm_in_training(shape: tuple[int, ...], affine: str) -> None:
    w, b = parameters(3)

    def expression(t: Any, x: Any, w: Any, b: Any) -> Any:
        mean, var = t.zeros(3, dtype=t.float64), t.ones(3, dtype=t.float64)
        w = w if affine in ("both", "weight") else None
        b = b if affine in ("both", "bias") else None
        out = t.nn.functional.batch_norm(x, mean, var, w, b, True, 0.3, 1e-4)
        return out, mean, var, mean._version

    same(expression, draw(*shape), w, b, **EXACT)
    same(lambda t, x: t.nn.functional.batch_norm(x, None, None, training=True), draw(*shape), **EXACT)


@pytest.mark.parametrize("shape", [*SHAPES, (0, 3, 4, 4)])
def test_batch_norm_in_evaluation(shape: tuple[int, ...]) -> None:
    w, b = parameters(3)
    mean, var = draw(3), np.abs(draw(3)) + 0.1

    def expression(t: Any, x: Any, w: Any, b: Any, mean: Any, var: Any) -> Any:
        mean, var = mean.detach(), var.detach()
        return t.nn.functional.batch_norm(x, mean, var, w, b), mean, var

    same(expression, draw(*shape), w, b, mean, var, **EXACT)


def test_running_statistics_do_not_disturb_what_is_recorded() -> None:
    def expression(t: Any, x: Any) -> Any:
        mean, var = t.zeros(3, dtype=t.float64), t.ones(3, dtype=t.float64)
        first = t.nn.functional.batch_norm(x, mean, var, training=True)
        second = t.nn.functional.batch_norm(x * 2, mean, var, training=True)
        return first, second, mean, var

    same(expression, draw(4, 3, 5), **EXACT)


def test_evaluation_keeps_the_statistics_it_used() -> None:
    """torch reads the running variance again in the backward pass, and training in between changes it
    unnoticed: its gradient is then wrong. Here it is the derivative of what was computed."""
    gradients = []
    for disturb in (False, True):
        x = mtd.from_numpy(draw(4, 3, 5)).requires_grad_()
        mean, var = mtd.zeros(3, dtype=mtd.float64), mtd.ones(3, dtype=mtd.float64)
        out = mtd.nn.functional.batch_norm(x, mean, var)
        if disturb:
            mtd.nn.functional.batch_norm(x.detach(), mean, var, training=True)
        out.sum().backward()
        gradients.append(x.grad.array)
    np.testing.assert_array_equal(*gradients)


@pytest.mark.parametrize("groups", [1, 2, 3, 6])
@pytest.mark.parametrize("shape", [(4, 6, 3, 2), (4, 6, 5), (2, 6), (1, 6, 2), (0, 6, 4)])
def test_group_norm(shape: tuple[int, ...], groups: int) -> None:
    w, b = parameters(6)
    given = lambda t, x, w, b: t.nn.functional.group_norm(x, groups, w, b, 1e-3)  # noqa: E731
    if shape == (2, 6) and groups == 6:
        given = lambda t, x, w, b: t.nn.functional.group_norm(x + 0, 2, w, b)  # noqa: E731
    same(given, draw(*shape), w, b, **EXACT)
    same(lambda t, x, w: t.group_norm(x, groups, w), draw(*shape), w, **EXACT)


@pytest.mark.parametrize("shape", [(4, 3, 5, 6), (4, 3, 7), (1, 3, 2, 2)])
def test_instance_norm(shape: tuple[int, ...]) -> None:
    w, b = parameters(3)

    def expression(t: Any, x: Any, w: Any, b: Any) -> Any:
        out = t.nn.functional.instance_norm(x, weight=w, bias=b)
        return out, t.nn.functional.instance_norm(x)

    same(expression, draw(*shape), w, b, **EXACT)


@pytest.mark.parametrize(
    ("shape", "last"),
    [((4, 6), (6,)), ((2, 5, 4), (4,)), ((2, 5, 4), (5, 4)), ((5,), (5,)), ((0, 4), (4,)), ((700, 200), (200,))],
)
def test_layer_and_rms_norm(shape: tuple[int, ...], last: tuple[int, ...]) -> None:
    w, b = parameters(last)
    x = draw(*shape)
    same(lambda t, x, w, b: t.nn.functional.layer_norm(x, last, w, b), x, w, b, **EXACT)
    same(lambda t, x, b: t.layer_norm(x, last, None, b, 1e-3), x, b, **EXACT)
    same(lambda t, x: t.layer_norm(x, last), x, **EXACT)
    same(lambda t, x, w: t.nn.functional.rms_norm(x, last, w), x, w, **EXACT)
    same(lambda t, x: t.rms_norm(x, last, eps=1e-2), x, **EXACT)


def test_float32_far_from_zero() -> None:
    """Mean a thousand times the deviation: the variance must not drown."""
    x = draw(8, 4, 16, 16, mean=1500.0, dtype=np.float32)
    exact = (x.astype(np.float64) - x.mean((0, 2, 3), dtype=np.float64)[:, None, None]) / x.std(
        (0, 2, 3), dtype=np.float64
    )[:, None, None]
    out = mtd.nn.functional.batch_norm(mtd.from_numpy(x), None, None, training=True, eps=1e-12)
    np.testing.assert_allclose(out.array, exact, atol=3e-4)
    rows = x.reshape(64, -1)
    flat = rows.astype(np.float64)
    exact = (flat - flat.mean(1)[:, None]) / flat.std(1)[:, None]
    out = mtd.nn.functional.layer_norm(mtd.from_numpy(rows), rows.shape[1:], eps=1e-12)
    np.testing.assert_allclose(out.array, exact, atol=3e-4)


@pytest.mark.parametrize("kind", [np.float32, np.float16])
def test_types(kind: Any) -> None:
    x, (w, b) = draw(4, 3, 6, dtype=kind), (p.astype(np.float32) for p in parameters(3))
    coarse = {"rtol": 1e-4, "atol": 1e-5} if kind is np.float32 else {"rtol": 1e-2, "atol": 2e-2}
    same(lambda t, x, w, b: t.nn.functional.batch_norm(x, None, None, w, b, True), x, w, b, **coarse)
    same(lambda t, x, w, b: t.nn.functional.group_norm(x, 3, w, b), x, w, b, **coarse)
    y = np.ascontiguousarray(x.swapaxes(1, 2))
    same(lambda t, x, w, b: t.nn.functional.layer_norm(x, (3,), w, b), y, w, b, **coarse)
    same(lambda t, x, w: t.nn.functional.rms_norm(x, (3,), w), y, w.astype(kind), **coarse)


def test_not_contiguous() -> None:
    x = draw(6, 5, 3, 4).T
    same(lambda t, x: t.nn.functional.batch_norm(x, None, None, training=True), x, **EXACT)
    same(lambda t, x: t.nn.functional.layer_norm(x, (6,)), x, **EXACT)
    same(lambda t, x: t.nn.functional.group_norm(x, 3).sum(), x, **EXACT)


def test_refusals() -> None:
    x = draw(2, 3, 4, 4)
    one = np.ones
    F = "functional"

    def refused(name: str, *args: Any, **kwargs: Any) -> None:
        same(lambda t, *a: getattr(getattr(t.nn, F), name)(*a, **kwargs), *args, grad=False)

    refused("batch_norm", one((1, 3)), None, None, training=True)
    refused("batch_norm", one((1, 3, 1, 1)), None, None, training=True)
    refused("batch_norm", x, None, None)
    refused("batch_norm", x, one(3), None, training=True)
    refused("batch_norm", x, one(3), one(3), one(4))
    refused("batch_norm", x, one(3), one(3), one(3), one(2))
    refused("batch_norm", x, one(4), one(3))
    refused("batch_norm", one(3), one(3), one(3))
    refused("batch_norm", x.astype(np.int64), one(3), one(3))
    refused("batch_norm", x, one(3, np.float32), one(3, np.float32), training=True)
    refused("batch_norm", x, one(3), one(3), training=True, eps=0.0)
    refused("layer_norm", x, (3,))
    refused("layer_norm", x, 4)
    refused("layer_norm", x, (4,), one(3))
    refused("layer_norm", x, (4,), one(4), one(3))
    refused("layer_norm", x, ())
    refused("layer_norm", x.astype(np.int64), (4,))
    refused("layer_norm", x, (4,), one(4, np.float32))
    refused("rms_norm", x, (3,))
    refused("rms_norm", x, (4,), one(3))
    refused("group_norm", x, 2)
    refused("group_norm", x, 0)
    refused("group_norm", one((1, 3)), 3)
    refused("group_norm", x, 3, one(2))
    refused("group_norm", one(3), 3)
    refused("instance_norm", one((2, 3, 1)))
    refused("instance_norm", one((2, 3)))
