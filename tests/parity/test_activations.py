"""Activations and softmaxes equal torch's, in place and out of place."""

# ruff: noqa: B023 - every lambda runs within its turn of the loop

from __future__ import annotations

from inspect import signature
from typing import Any

import numpy as np
import pytest

import minitorch_dist as mtd
from tests.parity.compare import same, torch
from tests.parity.test_elementwise import DTYPES, agree, draw

pytestmark = pytest.mark.parity

CALLS: list[tuple[str, tuple[Any, ...]]] = [
    ("relu", ()),
    ("leaky_relu", ()),
    ("leaky_relu", (0.2,)),
    ("elu", ()),
    ("elu", (1.5,)),
    ("gelu", ()),
    ("silu", ()),
    ("softplus", ()),
    ("softplus", (2.0, 3.0)),
    ("logsigmoid", ()),
]


def functional(t: Any) -> Any:
    return t.nn.functional


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize(("name", "args"), CALLS, ids=[f"{n}{a}" for n, a in CALLS])
def test_activation(name: str, args: tuple[Any, ...], dtype: str) -> None:
    for shape in ((4, 6), (2,), (0, 2), (), (3, 1, 2)):
        x = draw(shape, dtype, -4, 4)
        agree(lambda t, x: getattr(functional(t), name)(x, *args), x, dtype=dtype)
    x = draw((6, 4), dtype, -4, 4).T
    agree(lambda t, x: getattr(functional(t), name)(x, *args), x, dtype=dtype)


@pytest.mark.parametrize("name", sorted({n for n, _ in CALLS}))
def test_special_values(name: str) -> None:
    x = np.array([0.0, -0.0, 30, -30, 100, -100, 3, -3, 6, 0.5, -0.5, 1, -1, np.nan], "float32")
    agree(lambda t, x: getattr(functional(t), name)(x), x)
    x = np.array([-np.inf] if name == "gelu" else [np.inf, -np.inf], "float32")
    agree(lambda t, x: getattr(functional(t), name)(x), x, grad=False)


def test_tanh_form_of_gelu() -> None:
    for dtype in ("float64", "float32", "float16", "bfloat16"):
        x = draw((3, 4), dtype, -4, 4)
        agree(lambda t, x: functional(t).gelu(x, approximate="tanh"), x, dtype=dtype)
    agree(lambda t, x: functional(t).gelu(x, approximate="fast"), x)


IN_PLACE = [
    (name, args)
    for name, args in CALLS
    if "inplace" in signature(getattr(mtd.nn.functional, name)).parameters and args != (1.0, -1.0)
]


@pytest.mark.parametrize(("name", "args"), IN_PLACE, ids=[f"{n}{a}" for n, a in IN_PLACE])
def test_in_place(name: str, args: tuple[Any, ...]) -> None:
    x = draw((3, 4), "float32", -4, 4)

    def twice(t: Any, x: Any) -> Any:
        y = x * 1
        z = getattr(functional(t), name)(y, *args, inplace=True)
        return z, y, y * 2, z is y

    agree(twice, x)
    agree(lambda t, x: getattr(functional(t), name)(x, *args, inplace=True), x)  # a leaf
    agree(lambda t, x: (getattr(functional(t), name)(x, *args, inplace=True), x), x, grad=False)
    if hasattr(torch.nn.functional, name + "_"):
        agree(lambda t, x: getattr(functional(t), name + "_")(x * 1, *args), x)
        assert hasattr(mtd.nn.functional, name + "_")


def test_torch_level_names() -> None:
    x = draw((3, 4), "float32", -4, 4)
    for name in ("relu",):
        agree(lambda t, x: getattr(t, name)(x), x)
        agree(lambda t, x: getattr(t, name + "_")(x * 1), x)


# ----------------------------------------------------------------------------------------- softmax


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", ["softmax", "log_softmax", "logsumexp"])
def test_softmax(name: str, dtype: str) -> None:
    for shape in ((2, 3), (4,), (), (2, 0, 3), (0,), (2, 3, 4)):
        x = draw(shape, dtype, -4, 4)
        if not x.size and dtype.lstrip("u").startswith(("int", "bool")):
            continue  # torch refuses integers, unless there are none
        for dim in (0, -1, 1):
            agree(lambda t, x: getattr(t, name)(x, dim), x, dtype=dtype)
            agree(lambda t, x: getattr(x.T, name)(dim=dim), x[..., ::2] if shape else x, dtype=dtype)


def test_softmax_forms() -> None:
    x, n = draw((2, 3), "float32", -4, 4), draw((2, 3), "int64", -4, 4)
    for name in ("softmax", "log_softmax"):
        agree(lambda t, n: getattr(t, name)(n, 0, dtype=t.float32), n)
        agree(lambda t, x: getattr(t, name)(x, 0, dtype=t.float64), x)
        agree(lambda t, x: getattr(t, name)(x, 0, t.float64), x)
        agree(lambda t, x: getattr(t, name)(x, axis=1), x)
        agree(lambda t, x: getattr(t, name)(x), x)
        agree(lambda t, x: getattr(t, name)(x, 2), x)
        same(lambda t, x: getattr(t, name)(x * 1000, 1), x, grad=False)
    for dim in ((0, 1), (0,), [1], 0):
        agree(lambda t, x: (t.logsumexp(x, dim), x.logsumexp(dim, keepdim=True)), x)
    agree(lambda t, x: t.logsumexp(x), x)
    bad = np.array([[np.inf, 1], [-np.inf, -np.inf], [np.nan, 1], [-np.inf, 1]], "float32")
    for name in ("softmax", "log_softmax", "logsumexp"):
        agree(lambda t, x: getattr(t, name)(x, 1), bad)


def test_softmax_rows_add_up_to_one() -> None:
    x = mtd.from_numpy(draw((50, 20), "float64", -100, 100))
    np.testing.assert_allclose(mtd.softmax(x, 1).sum(1).numpy(), 1, rtol=1e-14)
