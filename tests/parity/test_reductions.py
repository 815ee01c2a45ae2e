"""Reductions equal torch's: every form of `dim`, ties, nan, empty tensors, types, errors."""

# ruff: noqa: B023 - every lambda runs within its turn of the loop

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import minitorch_dist as mtd
from tests.parity.test_elementwise import DTYPES, TOLERANCE, agree, draw

pytestmark = pytest.mark.parity

SHAPES = [(2, 3), (4,), (), (0,), (2, 0, 3), (3, 1, 2)]
MANY = ["sum", "mean", "amax", "amin", "all", "any", "count_nonzero", "logsumexp", "var", "std"]
ONE = ["prod", "max", "min", "argmax", "argmin"]


def is_integer(dtype: str) -> bool:
    return dtype == "bool" or "int" in dtype


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", MANY + ONE)
def test_over_everything_and_over_one(name: str, dtype: str) -> None:
    for shape in SHAPES:
        x = draw(shape, dtype, -3, 3)
        if dtype == "bool" and "median" in name and (not x.size or not shape):
            continue  # torch refuses bool only where it has something to sort
        if name != "logsumexp":
            agree(lambda t, x: getattr(t, name)(x), x, dtype=dtype)
        for dim in (0, -1, 1, 5):
            agree(lambda t, x: getattr(t, name)(x, dim), x, dtype=dtype)
            if name != "count_nonzero":
                agree(lambda t, x: getattr(x, name)(dim=dim, keepdim=True), x, dtype=dtype)
    x = draw((6, 4), dtype, -3, 3).T[::2]
    agree(lambda t, x: getattr(t, name)(x, 0), x, dtype=dtype)
    agree(lambda t, x: getattr(t, name)(x, axis=1), x, dtype=dtype)
    if name not in ("count_nonzero", "logsumexp"):
        agree(lambda t, x: getattr(x, name)(axis=1, keepdims=True), x, dtype=dtype)


@pytest.mark.parametrize("name", MANY)
def test_over_several(name: str) -> None:
    x = draw((2, 3, 4), "float32", -3, 3)
    for dim in ((0, 1), [0, 2], (-1, 0), (0, 1, 2), (1,), (0, 0), (0, -3), (0, 7)):
        agree(lambda t, x: getattr(t, name)(x, dim), x)
        if name != "count_nonzero":
            agree(lambda t, x: getattr(t, name)(x, dim, keepdim=True), x)
    if name != "logsumexp":
        known = name not in ("var", "std")  # torch counts wrongly here: its gradient is inf
        agree(lambda t, x: getattr(t, name)(x, ()), x, grad=known)
        agree(lambda t, x: getattr(t, name)(x, []), x, grad=known)
    agree(lambda t, x: getattr(t, name)(x, np.int64(1)), x)
    agree(lambda t, x: getattr(t, name)(x, "a"), x)
    agree(lambda t, x: getattr(t, name)(x, 1.5), x)


@pytest.mark.parametrize("name", ["sum", "mean", "prod"])
def test_another_type(name: str) -> None:
    for dtype in DTYPES:
        x = draw((2, 3), dtype, -3, 3)
        for into in ("float64", "float32", "int64"):
            coarse = max(dtype, into, key=lambda d: TOLERANCE.get(d, 0))
            grad = into != "int64"  # torch says so only in words of its own
            agree(lambda t, x: getattr(t, name)(x, dtype=getattr(t, into)), x, dtype=coarse, grad=grad)


TIES = np.array([[3.0, 1, 3, 1], [1, 1, 1, 1], [1, 2, 2, 1]], "float32")
NANS = np.array([[3.0, np.nan, 3, 1], [np.nan, 1, np.nan, 2], [1, 2, 2, np.inf]], "float32")


@pytest.mark.parametrize("name", [*MANY, *ONE])
def test_ties_nan_and_infinity(name: str) -> None:
    for x in (TIES, NANS):
        if x is NANS and name in ("prod", "mode"):
            continue  # torch divides by the nan, and counts each nan as a value of its own
        if name != "logsumexp":
            agree(lambda t, x: getattr(t, name)(x), x)
        for dim in (0, 1):
            if name in ("median", "nanmedian", "mode"):  # torch may return any of equal elements
                agree(lambda t, x: getattr(t, name)(x, dim)[0], x, grad=False)
            else:
                agree(lambda t, x: getattr(t, name)(x, dim=dim), x)


def test_forms_of_max_and_min() -> None:
    x, y = draw((2, 3), "float32", -3, 3), draw((3,), "float32", -3, 3, seed=1)
    n = draw((2, 3), "int64", -3, 3)
    for name in ("max", "min"):
        agree(lambda t, x, y: getattr(t, name)(x, y), x, y)
        agree(lambda t, x, y: getattr(x, name)(other=y), x, y)
        agree(lambda t, x, n: getattr(t, name)(x, n), x, n)
        agree(lambda t, x: getattr(t, name)(x, 1).values, x)
        agree(lambda t, x: getattr(t, name)(x, dim=1, keepdim=True).indices, x)
        agree(lambda t, x: getattr(t, name)(x, (0, 1)), x)
    agree(lambda t, x: (x.argmax(None, True), x.argmin(keepdim=True)), x)


def test_reprs_of_named_results() -> None:
    x = mtd.from_numpy(TIES)
    for kind in ("max", "min"):
        out = getattr(x, kind)(1)
        assert repr(out).startswith(f"torch.return_types.{kind}(\nvalues=tensor(")
        values, indices = out
        assert values is out.values is out[0]
        assert indices is out.indices is out[1]


# ------------------------------------------------------------------------------------- variances

FORMS: list[tuple[tuple[Any, ...], dict[str, Any]]] = [
    ((), {}), ((0,), {}), (((0, 1),), {}), ((None,), {}), ((False,), {}), ((0, False), {}),
    ((0, True, True), {}), ((), {"unbiased": False}), ((), {"correction": 0}), ((), {"correction": 2}),
    ((1,), {"correction": 1.5}), ((1,), {"correction": 0, "keepdim": True}),
    ((0,), {"unbiased": True, "correction": 1}), ((0,), {"correction": 7}), ((5,), {}),
]  # fmt: skip


@pytest.mark.parametrize("name", ["var", "std"])
def test_variances(name: str) -> None:
    for dtype in ("float64", "float32", "float16", "bfloat16"):
        x = draw((3, 4), dtype, -3, 3)
        for args, kwargs in FORMS:
            if dtype == "float16" and kwargs.get("correction") == 7:
                continue
            agree(lambda t, x: getattr(t, name)(x, *args, **kwargs), x, dtype=dtype)
    agree(lambda t, x: getattr(t, name)(x), draw((3,), "int64", -3, 3))
    same = np.ones((2, 3), "float32")
    agree(lambda t, x: getattr(t, name)(x, 1), same)


def test_variance_of_too_few_warns() -> None:
    for size in (0, 1):
        with pytest.warns(UserWarning, match="degrees of freedom is <= 0"):
            assert mtd.from_numpy(np.ones(size)).var().isnan().item()
    mtd.from_numpy(np.ones(1)).var(correction=0)


# ----------------------------------------------------------------------------- norms and quantiles


@pytest.mark.parametrize("p", [2, 1, np.inf, "fro", None, "bad"], ids=str)
def test_norms(p: Any) -> None:
    for dtype in ("float64", "float32", "float16", "bfloat16"):
        x = draw((2, 3, 4), dtype, -3, 3)
        agree(lambda t, x: t.norm(x, p), x, dtype=dtype)
        for dim in (0, -1, (0, 2), [1], None, 9):
            if p is None and dim is None:
                continue
            agree(lambda t, x: x.norm(p, dim), x, dtype=dtype)
            agree(lambda t, x: t.norm(x, p, dim, True), x, dtype=dtype)
    ties = np.array([[0.0, 0, 0], [2, -2, 1], [0, 3, 0]], "float32")
    agree(lambda t, x: t.norm(x, p, dim=1), ties)
    agree(lambda t, x: t.norm(x, p, dim=1), ties[:, :0])
    agree(lambda t, x: t.norm(x), draw((3,), "int64", 1, 3))
    if isinstance(p, (int, float)):
        agree(lambda t, x: x.norm(p, dtype=t.float64), ties[1])


def test_norm_alone() -> None:
    x = draw((3, 4), "float32", -3, 3)
    agree(lambda t, x: (x.norm(), t.norm(x, dim=1), x.norm(dim=0, keepdim=True)), x)


def test_products_around_zeros() -> None:
    for row in ([2.0, 3, 4], [0.0, 3, 4], [0.0, 3, 0]):
        x = np.array([row, [1.0, 2, 3]], "float32")
        agree(lambda t, x: (t.prod(x), x.prod(0), x.prod(1, keepdim=True)), x)
    agree(lambda t, x: t.prod(x, (0, 1)), x)
    agree(lambda t, x: x.sum(dim=0, axis=0), x)
