"""Complex numbers as far as they are here: their parts, arithmetic and gradients are torch's, and what asks for an order is refused."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from tests.parity.compare import mtd, same, torch

pytestmark = pytest.mark.parity

RNG = np.random.default_rng(0)
X, Y = (RNG.normal(size=(3, 4, 2)).astype(np.float32) for _ in range(2))
Z, W = X[..., 0] + 1j * X[..., 1], Y[..., 0] - 1j * Y[..., 1]

OF_PARTS: dict[str, Callable[..., Any]] = {
    "polar": lambda t, x, y: t.view_as_real(t.polar(x.abs(), y)),
    "turned": lambda t, x, y: t.view_as_real(t.view_as_complex(x) * t.polar(t.ones(3, 4), y[..., 0])),
    "abs": lambda t, x, y: t.view_as_complex(x).abs(),
    "quotient": lambda t, x, y: (t.view_as_complex(x) / t.view_as_complex(y)).abs(),
}
OF_TWO = ("lt", "le", "gt", "ge", "maximum", "minimum")
OF_ONE = ("max", "min", "amax", "amin", "argmax", "argmin", "sort", "argsort", "unique", "sign")


@pytest.mark.parametrize("case", OF_PARTS)
def test_parts_and_gradients(case: str) -> None:
    same(OF_PARTS[case], X, Y)


def test_numbers_of_python() -> None:
    z = mtd.from_numpy(Z)
    assert z.tolist() == Z.tolist() and z[0, 0].item() == complex(Z[0, 0])
    assert mtd.tensor([1 + 2j]).dtype is mtd.complex64
    assert mtd.allclose(z, z) and not mtd.allclose(z, z + 1j)
    with pytest.raises(TypeError, match="must be real number, not complex"):
        mtd.tensor([1j], dtype=mtd.float32)


@pytest.mark.parametrize("name", [*OF_ONE, *OF_TWO])
def test_an_order_is_refused(name: str) -> None:
    for library in (torch, mtd):
        with pytest.raises((RuntimeError, NotImplementedError)):
            z, w = library.from_numpy(Z.copy()), library.from_numpy(W.copy())
            getattr(z, name)(*([w] if name in OF_TWO else []))
