"""Gradients equal torch's where the numbers end: for 0, -0, denormal, huge, infinite and nan elements, and for
gradients that come in as inf or nan. What a mask leaves out is 0, and not 0 times infinity.

`PURPOSE` names what differs, and why; docs/same_and_different.md says it to users.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from tests.parity.compare import mtd, torch

pytestmark = pytest.mark.parity

Array = np.ndarray[Any, Any]
DTYPES = ("float32", "float64")
DENORMAL = {"float32": 1e-40, "float64": 1e-310}
GRADIENTS = (1, -1, 0, 2.5, np.inf, -np.inf, np.nan, 1e30)


def specials(dtype: str) -> Array:
    most, tiny = float(np.finfo(dtype).max), DENORMAL[dtype]
    ordinary = [0.5, -0.5, 1, -1, 2.5, 3, -3, 6, 30, -30, 100, -100, 1e30, -1e30]
    return np.array([0.0, -0.0, tiny, -tiny, *ordinary, most, -most, np.inf, -np.inf, np.nan], dtype)


def few(dtype: str) -> Array:
    return np.array([0.0, -0.0, DENORMAL[dtype], 1, -1, 2.5, -3, 1e30, np.inf, -np.inf, np.nan], dtype)


def f(name: str, *args: Any, **kwargs: Any) -> Callable[..., Any]:
    return lambda t, *xs: getattr(t.nn.functional, name)(*xs, *args, **kwargs)


def g(name: str, *args: Any, **kwargs: Any) -> Callable[..., Any]:
    return lambda t, *xs: getattr(t, name)(*xs, *args, **kwargs)


# ------------------------------------------------------------------------------------- one operand

PLAIN = [
    "exp",
    "exp2",
    "expm1",
    "sigmoid",
    "sin",
    "cos",
    "tanh",
    "square",
    "abs",
    "neg",
    "sign",
    "floor",
    "ceil",
    "round",
    "log",
    "log2",
    "log1p",
    "sqrt",
    "rsqrt",
    "reciprocal",
    "relu",
]
LAYERS = ["leaky_relu", "elu", "silu", "softplus", "logsigmoid"]
PIECES = []  # nan: see PURPOSE
ONE: dict[str, Callable[..., Any]] = {
    **{name: g(name) for name in PLAIN},
    **{f"F.{name}": f(name) for name in (*LAYERS, *PIECES)},
    "relu_": lambda t, x: t.relu_(x * 1),
    "leaky_relu 2": f("leaky_relu", 2.0),
    "leaky_relu -0.5": f("leaky_relu", -0.5),
    "leaky_relu 0": f("leaky_relu", 0.0),
    "softplus 2": f("softplus", 2.0, 3.0),
    "gelu tanh": f("gelu", approximate="tanh"),
    "clamp": g("clamp", -1.0, 2.5),
    "clamp min": g("clamp", min=-1.0),
    "clamp max": g("clamp", max=1.0),
    "clamp crossed": g("clamp", 1.0, -1.0),
    "where": lambda t, x: t.where(x > 0, x, 0.0),
    "masked_fill": lambda t, x: x.masked_fill(x.detach() > 0, 1.0),
    **{f"pow {n}": g("pow", n) for n in (0, 1, 2, 3, -1, 0.5, -0.5, 2.5, -2)},
    **{f"{n} to the power": (lambda t, x, n=n: t.pow(n, x)) for n in (0, 1, 2, 0.5, -1)},
    **{f"remainder {n}": g("remainder", n) for n in (2.5, -2.0, np.inf)},
}

# ------------------------------------------------------------------------------------ two operands

PAIRS = ["add", "sub", "mul", "div", "pow", "maximum", "minimum", "max", "min"]
LOSSES = ["l1_loss", "mse_loss", "smooth_l1_loss", "huber_loss", "binary_cross_entropy_with_logits"]
TWO: dict[str, Callable[..., Any]] = {
    **{name: g(name) for name in PAIRS},
    **{f"F.{name}": f(name, reduction="none") for name in LOSSES},
    "smooth_l1_loss 0": f("smooth_l1_loss", reduction="none", beta=0.0),
    "where": lambda t, x, y: t.where(x.detach() > 1, x, y),
}

Case = tuple[tuple[float, ...], float]  # the elements and the gradient at one place


def has_nan(case: Case) -> bool:
    return any(v != v for v in case[0])


PURPOSE: dict[str, Callable[[Case], bool]] = {
    # torch's vectors and its remainders of vectors differ for nan and for -0; here all elements are alike.
    # Which elements are in a vector depends on the processor: some have vectors of four float64, and some of eight.
    "F.elu": has_nan
}


def run(t: Any, expression: Any, arrays: list[Array], grad: Array) -> tuple[Array, list[Array]]:
    xs = [t.from_numpy(array.copy()).requires_grad_() for array in arrays]
    out = expression(t, *xs)
    out.backward(t.from_numpy(grad.copy()))
    empty = np.zeros(0)
    return out.detach().numpy(), [empty if x.grad is None else x.grad.numpy() for x in xs]


def apart(theirs: Array, ours: Array, rtol: float) -> Array:
    """Where both are not the same: nan beside nan, inf beside inf, numbers by their relative distance."""
    with np.errstate(all="ignore"):
        alike = (theirs == ours) | (np.isnan(theirs) & np.isnan(ours))
        numbers = np.isfinite(theirs) & np.isfinite(ours)
        size = np.maximum(abs(theirs), abs(ours))
        small = 1e-37 if theirs.dtype == np.float32 else 1e-300
        return ~(alike | (numbers & (abs(theirs - ours) <= rtol * size + small)))


def agree(name: str, expression: Any, arrays: list[Array], grad: Array) -> None:
    rtol = 2e-4 if grad.dtype == np.float32 else 1e-7
    _, theirs = run(torch, expression, arrays, grad)
    _, ours = run(mtd, expression, arrays, grad)
    for number, (a, b) in enumerate(zip(theirs, ours, strict=True)):
        assert a.shape == b.shape
        for place in np.flatnonzero(apart(a, b, rtol)):
            elements = tuple(float(x.flat[place]) for x in arrays)
            case = (elements, float(grad.flat[place]))
            assert name in PURPOSE and PURPOSE[name](case), (
                f"{name}: elements {elements}, gradient {case[1]}: that of argument {number} is "
                f"{a.flat[place]} in torch, here {b.flat[place]}"
            )


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", ONE)
def test_one_operand(name: str, dtype: str) -> None:
    grid = np.broadcast_arrays(specials(dtype)[:, None], np.array(GRADIENTS, dtype))
    x, grad = (np.ascontiguousarray(a) for a in grid)
    agree(name, ONE[name], [x], grad)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", TWO)
def test_two_operands(name: str, dtype: str) -> None:
    values, grads = few(dtype), np.array([1, -1, np.inf, np.nan], dtype)
    grid = np.broadcast_arrays(values[:, None, None], values[:, None], grads)
    x, y, grad = (np.ascontiguousarray(a) for a in grid)
    agree(name, TWO[name], [x, y], grad)


# ----------------------------------------------------------------------------------- many elements


def classes(t: Any, x: Any) -> Any:
    return t.from_numpy(np.array([0, 1, -100, 3, 4, 2, 1, -100]))


INDEX = np.array([0, 2, 2, 5])
ROWS: dict[str, Callable[..., Any]] = {
    **{
        n: (lambda t, x, n=n: getattr(t, n)(x, -1))
        for n in ("softmax", "log_softmax", "logsumexp", "cumsum", "sum", "mean", "amax", "amin")
    },
    **{f"norm {p}": (lambda t, x, p=p: t.norm(x, p, -1)) for p in (1, 2, np.inf)},
    "max_pool2d": lambda t, x: t.nn.functional.max_pool2d(x[None], 2),
    "max_pool2d overlapping": lambda t, x: t.nn.functional.max_pool2d(x[None], 3, 1, 1),
    "avg_pool2d": lambda t, x: t.nn.functional.avg_pool2d(x[None], 2),
    "adaptive_avg_pool2d": lambda t, x: t.nn.functional.adaptive_avg_pool2d(x[None], 3),
    "pad": lambda t, x: t.nn.functional.pad(x, (1, 2)),
    "crop": lambda t, x: t.nn.functional.pad(x, (-1, -2)),
    "tril": lambda t, x: t.tril(x),
    "index_select": lambda t, x: t.index_select(x, 1, t.from_numpy(INDEX)),
    **{
        f"{n} {r}": (lambda t, x, n=n, r=r: getattr(t.nn.functional, n)(x, classes(t, x), reduction=r))
        for n in ("cross_entropy", "nll_loss")
        for r in ("none", "mean", "sum")
    },
    "dropout of all": lambda t, x: t.nn.functional.dropout(x, 1.0),
    "embedding": lambda t, x: t.nn.functional.embedding(t.from_numpy(INDEX), x, padding_idx=2),
}


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", ROWS)
def test_many_elements(name: str, dtype: str) -> None:
    """One gradient that is inf or nan; ties and zeros among the elements."""
    rng = np.random.default_rng(len(name))
    for number in range(6):
        x = np.round(rng.normal(size=(8, 8)) * 2).astype(dtype) / 2 + np.asarray(0.0, dtype)
        if number % 2:
            x += np.arange(64, dtype=dtype).reshape(8, 8) / 1000
        shape = tuple(ROWS[name](mtd, mtd.from_numpy(x)).shape)
        grad = np.asarray(rng.normal(size=shape).astype(dtype))
        if grad.size:
            grad.flat[rng.integers(grad.size)] = (np.inf, -np.inf, np.nan)[number % 3]
        rtol = 2e-4 if dtype == "float32" else 1e-7
        (_, [a]), (_, [b]) = run(torch, ROWS[name], [x], grad), run(mtd, ROWS[name], [x], grad)
        wrong = apart(a, b, rtol) & ~((abs(a) < 1e-5) & (abs(b) < 1e-5))
        assert not wrong.any(), (name, x, grad, a, b)


def test_a_nan_in_a_window_gets_the_gradient_of_the_window() -> None:
    x = np.random.default_rng(0).normal(size=(2, 6, 6))
    x[0, 0, 1] = x[0, 1, 0] = x[1, 3, 3] = np.nan
    for kernel, stride, padding in ((2, 2, 0), (3, 1, 1), (3, 2, 0)):
        pool = f("max_pool2d", kernel, stride, padding)
        grad = np.random.default_rng(1).normal(size=tuple(pool(mtd, mtd.from_numpy(x)).shape))
        (_, [a]), (_, [b]) = run(torch, pool, [x], grad), run(mtd, pool, [x], grad)
        np.testing.assert_allclose(b, a)
