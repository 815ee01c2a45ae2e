"""Joining, repeating, turning, padding: against torch."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, strategies as st

from tests.parity.compare import same
from tests.strategies import arrays, shapes

pytestmark = pytest.mark.parity

SHAPES: tuple[tuple[int, ...], ...] = ((2, 3, 4), (3, 4), (6,), (), (2, 0, 3), (3, 3))

EXPRESSIONS = """
t.cat([x, t.zeros(0)]) ; t.cat([t.zeros(0), x]) ; t.cat([x, t.zeros(3)]) ; t.cat([x, t.zeros(2, 2, 2)]) ; t.cat([t.zeros(0, 3), t.zeros(2, 2)]) ; t.cat([x, x.to(t.float32)]) ; t.cat([x.to(t.float16), x.to(t.bfloat16)]) ; t.cat([x, t.ones(2, 3, 4, dtype=t.int64)])
t.cat([t.zeros(0), t.zeros(0, dtype=t.int64)]) ; t.cat([t.tensor([True]), t.tensor([2])]) ; t.cat([t.tensor([1], dtype=t.uint8), t.tensor([2], dtype=t.int8)]) ; t.cat([x[:1], x[1:]]) ; t.cat([x, t.zeros(0, dtype=t.float64)]) ; t.concat([x, x])
t.stack([x, x]) ; t.vstack([x, x]) ; t.stack([x, x * 2], 1) ; t.stack((x, x), -1) ; t.stack([x, x], dim=5) ; t.stack([]) ; t.stack([x, x[0]]) ; t.stack([x.to(t.int64), x]) ; t.stack([x, 1])
x.roll(1) ; x.roll(2, 0) ; x.roll((1, -2), (0, 1)) ; x.roll(1, (0, 1)) ; x.roll((1, 2)) ; t.roll(x, shifts=1, dims=-1) ; x.roll(5, 1) ; x.roll(1, 9)
x.flip(0) ; x.flip((0, 1)) ; x.flip(0, 1) ; x.flip(dims=(0,)) ; x.flip(0, 0) ; x.flip(9) ; t.flip(x, [0]) ; x.flip(())
x.tril() ; x.triu() ; x.tril(1) ; x.triu(-1) ; x.triu(diagonal=2) ; t.tril(x, -1) ; t.triu(x, 9) ; x.T.tril()
x.repeat(2) ; x.repeat(2, 3) ; x.repeat((1, 2, 3)) ; x.repeat(2, 1, 2, 1) ; x.repeat(repeats=(2, 2, 2)) ; x.repeat(0, 2) ; x.repeat(2, -1) ; x.repeat(()) ; x.repeat(1, 1, 1)
x.repeat_interleave(2) ; x.repeat_interleave(3, 0) ; x.repeat_interleave(2, dim=-1) ; x.repeat_interleave(t.tensor([1, 2]), 0) ; x.repeat_interleave(t.tensor([0, 2, 1]), 1) ; x.repeat_interleave(t.tensor([2]), 0) ; x.repeat_interleave(t.tensor([1, -2]), 0) ; x.repeat_interleave(t.tensor([1.0, 2.0]), 0) ; x.repeat_interleave(2, 0, output_size=4) ; x.repeat_interleave(2, 0, output_size=5) ; t.repeat_interleave(t.tensor([1, 2, 0, 3])) ; x.repeat_interleave(-1) ; t.repeat_interleave(x, 2, 0) ; x.repeat_interleave(t.tensor(2), 1)
t.nn.functional.pad(x, (1, 2)) ; t.nn.functional.pad(x, (1, 0, 0, 2)) ; t.nn.functional.pad(x, (-1, 1)) ; t.nn.functional.pad(x, (-9, 1)) ; t.nn.functional.pad(x, (1, 1), value=2.5) ; t.nn.functional.pad(x, (1,)) ; t.nn.functional.pad(x, (1, 2, 3, 4, 5, 6)) ; t.nn.functional.pad(x, ()) ; t.nn.functional.pad(x, (1, 1), "foo") ; t.nn.functional.pad(x, (1, 1), mode="constant", value=float("inf")) ; t.nn.functional.pad(t.ones(2, 2, dtype=t.int64), (1, 1), value=2.5) ; t.nn.functional.pad(x, [0, 0, 1, 1]) ; t.nn.functional.pad(x.T, (1, 1, 1, 0))
"""
TABLE = [e.strip() for line in EXPRESSIONS.strip().splitlines() for e in line.split(" ; ")]


@pytest.mark.parametrize("expression", TABLE)
def test_values_and_gradients(expression: str) -> None:
    for shape in SHAPES:
        x = np.arange(1.0, 1.0 + np.prod(shape)).reshape(shape)
        same(lambda t, x: eval(expression, {"t": t, "x": x * 1}), x)
    same(lambda t, x: eval(expression, {"t": t, "x": x.to(t.int32)}), x, grad=False)


NAMED = """t.cat([x, x]) ; t.stack([x, x]) ; x.roll(1) ; x.flip(0) ; x.tril() ; x.triu()
x.repeat(2, 2) ; t.nn.functional.pad(x, (1, 1)) ; x.repeat_interleave(t.tensor([1, 2, 3]), 0)"""


def test_node_names_and_contiguity() -> None:
    for expression in [e for line in NAMED.splitlines() for e in line.split(" ; ")]:

        def look(t: Any, x: Any, expression: str = expression) -> Any:
            y = eval(expression, {"t": t, "x": x})
            return type(y.grad_fn).__name__, y._base is None, y.is_contiguous() or "rot90" in expression

        same(look, np.ones((3, 4)))


@given(arrays(shape=shapes(min_dims=1)), st.integers(-4, 3), st.integers(1, 3))
def test_joining_any_arrays(x: Any, dim: int, count: int) -> None:
    same(lambda t, x: t.cat([x * (i + 1) for i in range(count)], dim), x)
    same(lambda t, x: t.stack([x * (i + 1) for i in range(count)], dim), x)
    same(lambda t, x: t.cat(x.chunk(count)), x)
    same(lambda t, x: x.flip(dim), x)
    same(lambda t, x: x.roll(count, dim), x)
    same(lambda t, x: x.repeat_interleave(count, dim), x)


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "uint8", "bool", "int64"])
def test_other_dtypes(dtype: str) -> None:
    for expression in (
        "t.cat([x, x])",
        "t.stack([x, x])",
        "x.tril()",
        "x.flip(0)",
        "x.repeat(2, 2)",
        "x.roll(1)",
        "t.nn.functional.pad(x, (1, 1))",
        "x.repeat_interleave(2)",
    ):
        same(
            lambda t, x, e=expression: eval(e, {"t": t, "x": x.to(getattr(t, dtype))}),
            np.arange(9.0).reshape(3, 3) / 2,
            grad="float" in dtype,
        )
