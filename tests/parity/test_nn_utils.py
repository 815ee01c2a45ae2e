"""`nn.utils` and `func` against torch: clipping, padding, calling with other parameters."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tests.parity.compare import same
from tests.parity.modules import agree, caught

pytestmark = pytest.mark.parity


def with_gradients(t: Any, *values: Any, dtype: str = "float32") -> list[Any]:
    found = []
    for value in values:
        p = t.nn.Parameter(t.zeros(len(value), dtype=getattr(t, dtype)))
        p.grad = t.tensor(value, dtype=getattr(t, dtype))
        found.append(p)
    return [*found, t.nn.Parameter(t.zeros(1))]


VALUES = ([3.0, -4.0], [12.0, 0.5, -1.0])


@pytest.mark.parametrize("order", [2.0, 1.0, 3, float("inf"), "inf"])
@pytest.mark.parametrize("limit", [1, 6.5, 100.0])
def test_clip_grad_norm(order: Any, limit: float) -> None:
    def program(t: Any) -> Any:
        ps = with_gradients(t, *VALUES)
        total = t.nn.utils.clip_grad_norm_(ps, limit, norm_type=order)
        return total, [p.grad for p in ps[:2]], ps[2].grad

    agree(program)


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float64"])
def test_clip_grad_norm_of_other_dtypes(dtype: str) -> None:
    def program(t: Any) -> Any:
        ps = with_gradients(t, *VALUES, dtype=dtype)
        total = t.nn.utils.clip_grad_norm_(ps, 2.0)
        return total.dtype, [x.to(t.float64) for x in (total, ps[0].grad, ps[1].grad)]

    agree(program, rtol=1e-2 if dtype != "float64" else 1e-6)


def test_clip_grad_norm_corners() -> None:
    def program(t: Any) -> Any:
        u = t.nn.utils
        single = with_gradients(t, [3.0, 4.0])[0]
        bad = with_gradients(t, [float("nan"), 1.0], [float("inf"), 1.0])
        version = single.grad._version
        return [
            u.clip_grad_norm_(single, 1.0),
            single.grad,
            single.grad._version > version,
            u.clip_grad_norm_([], 1.0),
            u.clip_grad_norm_([t.nn.Parameter(t.zeros(2))], 1.0),
            caught(lambda: u.clip_grad_norm_(bad, 1.0, error_if_nonfinite=True)),
            u.clip_grad_norm_(bad, 1.0),
            [p.grad for p in bad[:2]],
            u.get_total_norm([t.ones(3), t.ones(2, 2)]),
            u.get_total_norm([t.ones(3), t.ones(2, 2, dtype=t.float64)]),
            u.clip_grads_with_norm_(single, 0.1, t.tensor(2.0)),
            single.grad,
        ]

    agree(program)


def test_clip_grad_value() -> None:
    def program(t: Any) -> Any:
        ps = with_gradients(t, *VALUES)
        t.nn.utils.clip_grad_value_(ps, 2)
        t.nn.utils.clip_grad_value_(ps[0], 1.5)
        return [p.grad for p in ps[:2]]

    agree(program)


# ---------------------------------------------------------------------------------- padding


def sequences(rng: Any, *lengths: int) -> list[Any]:
    return [rng.standard_normal((n, 2)).astype(np.float32) for n in lengths]


@pytest.mark.parametrize("batch_first", [False, True])
@pytest.mark.parametrize("side", ["right", "left"])
def test_pad_sequence(batch_first: bool, side: str) -> None:
    found = sequences(np.random.default_rng(0), 2, 4, 0, 3)
    same(lambda t, *xs: t.nn.utils.rnn.pad_sequence(list(xs), batch_first, -1.5, side), *found)
