"""Gather, scatter, select, mask, and the in-place forms of them: against torch."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, strategies as st

import minitorch_dist as mtd
from tests.parity.compare import same

pytestmark = pytest.mark.parity

EXPRESSIONS = """
x.gather(0, L([[0, 1, 2, 0], [2, 0, 0, 1]])) ; x.gather(1, L([[6]])) ; x.gather(1, L([[-1]])) ; x.gather(0, L([[0, 1, 2, 0, 1]])) ; x.gather(0, L([0, 1])) ; x.gather(0, I([[0]])) ; x.gather(0, L([[0]]).to(t.int16)) ; x.gather(0, L([[0]]).to(t.float32)) ; x.gather(0, t.zeros(1, 0, dtype=t.int64)) ; x.gather(3, L([[0]])) ; t.gather(x, 1, L([[0], [1], [2]])) ; x.gather(1, L([[1, 1, 1, 1, 1, 1], [0, 0, 0, 3, 3, 3]])) ; x.T.gather(0, L([[1, 2, 0]])) ; t.gather(input=x, dim=1, index=L([[0, 0]]))
x.scatter(1, L([[6]]), 1.0) ; x.scatter(1, L([[-1]]), 1.0) ; x.scatter(1, L([[0, 1]]), y[:1, :2]) ; x.scatter(1, L([[0, 1]]), y.to(t.int32)) ; x.scatter(1, L([[0, 1]]), y[:1, :1]) ; x.scatter(1, L([[0, 1]] * 4), 1.0) ; x.scatter(1, L([0]), 1.0) ; x.scatter(0, L([[2, 1, 0, 1], [0, 0, 1, 2]]), y[:2]) ; x.scatter(1, L([[0]]), value=3) ; x.scatter(dim=1, index=L([[0]]), src=y[:1, :1]) ; x.scatter(1, I([[0]]), 2) ; x.scatter(1, L([[0]]), "a") ; t.scatter(x, 0, L([[1, 1, 1, 1]]), y[1:2]) ; x.scatter(5, L([[0]]), y) ; x.scatter(1, L([[0]]), L(3))
x.scatter_add(1, L([[0, 0]]), y[:1, :2]) ; x.scatter_add(0, L([[0, 0, 0, 0], [0, 1, 0, 1], [0, 0, 2, 2]]), y) ; x.scatter_add(1, L([[9]]), y) ; x.scatter_add(1, L([[0]]), y.to(t.float32)) ; t.scatter_add(x, 0, L([[1, 0]]), y[:1, :2])
x.index_add(0, L([0, 0]), y[:2]) ; x.index_add(0, L([0, 0]), y[:2], alpha=2) ; x.index_add(0, L([0, 5]), y[:2]) ; x.index_add(0, L([0, -1]), y[:2]) ; x.index_add(0, L([0]), y[:2]) ; x.index_add(0, L([0]), y[:1, :3]) ; x.index_add(0, L([0]), y[:1].to(t.float32)) ; x.index_add(0, L(0), y[:1]) ; x.index_add(1, I([3, 0]), y[:, :2]) ; t.index_add(x, 0, L([1]), y[:1]) ; x.index_add(dim=0, index=L([1]), source=y[:1])
x.masked_fill(x.detach() > 3, 7) ; x.masked_fill(x.detach() > 3, y[0, 1]) ; x.masked_fill(x.detach() > 3, y[0, :1]) ; x.masked_fill(B([1, 0, 1, 0]), 7) ; x[0].masked_fill(x.detach() > 3, 7) ; x.masked_fill(L([1, 0, 1, 0]), 7) ; x.masked_fill(B([1, 0, 1, 0]).to(t.uint8), 7) ; x.masked_fill(x.detach() > 3, L(7)) ; x.to(t.int64).masked_fill(B([1, 0, 0, 1]), 2.5) ; x.masked_fill(B([1, 0, 1, 0]), float("-inf")) ; t.masked_fill(x, B(1), 2) ; x.masked_fill(B([1, 0]), 7) ; x.masked_fill(B([[1], [0], [1]]), "a") ; x[:, :1].masked_fill(B([1, 0, 1, 0]), 0)
"""
TABLE = [e.strip() for line in EXPRESSIONS.strip().splitlines() for e in line.split(" ; ")]
X = np.arange(12.0).reshape(3, 4)
Y = 100 - np.arange(12.0).reshape(3, 4)


def evaluate(expression: str, t: Any, x: Any, y: Any) -> Any:
    names = {
        "t": t,
        "x": x,
        "y": y,
        "L": lambda v: t.tensor(v, dtype=t.int64),
        "I": lambda v: t.tensor(v, dtype=t.int32),
        "B": lambda v: t.tensor(v, dtype=t.bool),
    }
    return eval(expression, names)


@pytest.mark.parametrize("expression", TABLE)
def test_values_and_gradients(expression: str) -> None:
    same(lambda t, x, y: evaluate(expression, t, x, y), X, Y)

    def named(t: Any, x: Any, y: Any) -> Any:
        out = evaluate(expression, t, x, y)
        if isinstance(out, tuple):
            return len(out)
        return type(out.grad_fn).__name__, out._base is None, out.requires_grad, out.is_contiguous()

    same(named, X, Y)


IN_PLACE = [
    e.replace(f".{name}(", f".{name}_(")
    for e in TABLE
    for name in ("scatter", "scatter_add", "index_add", "masked_fill")
    if f"x.{name}(" in e and not e.startswith("t.")
]


@pytest.mark.parametrize("expression", IN_PLACE)
def test_in_place(expression: str) -> None:
    for start in ("x * 1", "(x * 1).T.clone().T", "t.cat([x, x])[:3]"):

        def write(t: Any, x: Any, y: Any, start: str = start) -> Any:
            z = eval(start, {"t": t, "x": x})
            before = z._version
            out = evaluate(expression, t, z, y)
            return z * 2, out is z, z._version - before, z

        same(write, X, Y)
    if 'a"' not in expression and "index_put_(L" not in expression and "1.0)" not in expression:
        same(lambda t, x, y: evaluate(expression, t, x, y), X, Y)  # a leaf refuses
    same(lambda t, x, y: (evaluate(expression, t, x, y), x), X, Y, grad=False)


@st.composite
def scattered(draw: Any) -> Any:
    """A tensor, a dim, an index with repetitions that is no longer than it, and a source."""
    ndim = draw(st.integers(1, 3))
    shape = [draw(st.integers(1, 4)) for _ in range(ndim)]
    dim = draw(st.integers(0, ndim - 1))
    index_shape = [draw(st.integers(1, n)) for n in shape]
    index_shape[dim] = draw(st.integers(1, 6))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    index = rng.integers(0, shape[dim], index_shape)
    return rng.integers(-2, 3, shape) * 1.0, dim, index, rng.integers(-2, 3, index_shape) * 1.0


@given(scattered())
def test_gather_and_scatter_add(case: Any) -> None:
    x, dim, index, source = case
    same(lambda t, x, i: x.gather(dim, i), x, index)
    same(lambda t, x, i, s: x.scatter_add(dim, i, s), x, index, source)
    same(lambda t, x, i, s: x.to(t.int32).scatter_add(dim, i, s.to(t.int32)), x, index, source, grad=False)


LARGER = """x.scatter(1, L([[0, 1]]), y) ; x.scatter_add(1, L([[0, 0]]), y) ; x.scatter(0, t.zeros(0, 4, dtype=t.int64), y)
x.scatter_add(0, t.zeros(0, 4, dtype=t.int64), y)"""


@pytest.mark.parametrize("expression", [e for line in LARGER.splitlines() for e in line.split(" ; ")])
def test_a_source_larger_than_the_index(expression: str) -> None:
    """torch computes these and then refuses their gradient; here what is not read gets zero."""
    same(lambda t, x, y: evaluate(expression, t, x, y), X, Y, grad=False)
    x, y = (mtd.from_numpy(a.copy()).requires_grad_() for a in (X, Y))
    evaluate(expression, mtd, x, y).sum().backward()
    assert y.grad.shape == y.shape
    assert (y.grad[1:] == 0).all()


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "int8", "uint8", "bool"])
@pytest.mark.parametrize(
    "expression",
    [
        "x.gather(0, L([[0, 1, 1, 2]]))",
        "x.scatter(0, L([[1, 0]]), y[:1, :2])",
        "x.index_select(1, L([3, 0]))",
        "x.masked_fill(B([1, 0, 1, 0]), 1)",
        "x.index_add(0, L([1, 1]), y[:2])",
        "x.scatter_add(0, L([[0, 0, 0, 0], [0, 1, 0, 1]]), y[:2])",
    ],
)
def test_other_dtypes(dtype: str, expression: str) -> None:
    def run(t: Any, x: Any, y: Any) -> Any:
        return evaluate(expression, t, x.to(getattr(t, dtype)), y.to(getattr(t, dtype)))

    same(run, X / 4, X[::-1].copy() / 4, grad="float" in dtype)
