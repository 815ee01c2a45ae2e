"""Hypothesis strategies shared by the tests: shapes that broadcast, and arrays with odd strides."""

from __future__ import annotations

from typing import Any

import numpy as np
from hypothesis import strategies as st

Array = np.ndarray[Any, Any]


def shapes(min_dims: int = 0, max_dims: int = 4, min_side: int = 0, max_side: int = 5) -> Any:
    return st.lists(st.integers(min_side, max_side), min_size=min_dims, max_size=max_dims).map(tuple)


@st.composite
def broadcastable(draw: Any, count: int = 2, max_dims: int = 4) -> list[tuple[int, ...]]:
    """`count` shapes that broadcast together: any axis may be 1 or missing in any of them."""
    full = draw(shapes(max_dims=max_dims))
    found = []
    for _ in range(count):
        keep = draw(st.integers(0, len(full)))
        part = full[len(full) - keep :]
        found.append(tuple(1 if draw(st.booleans()) else n for n in part))
    return found


@st.composite
def arrays(
    draw: Any, shape: Any = None, dtype: Any = np.float64, low: float = -3.0, high: float = 3.0, strided: bool = True
) -> Array:
    """An array of `shape`; some are transposed, stepped, reversed in memory or expanded."""
    if shape is None:
        shape = draw(shapes())
    elif isinstance(shape, st.SearchStrategy):
        shape = draw(shape)
    seed = draw(st.integers(0, 2**32 - 1))
    dtype = np.dtype(dtype)
    layout = draw(st.sampled_from(["plain", "transposed", "stepped"])) if strided else "plain"
    rng = np.random.default_rng(seed)

    def fill(n: tuple[int, ...]) -> Array:
        if dtype.kind == "b":
            return rng.integers(0, 2, n).astype(bool)
        if dtype.kind in "iu":
            return rng.integers(max(low, 0) if dtype.kind == "u" else low, high + 1, n).astype(dtype)
        return rng.uniform(low, high, n).astype(dtype)

    if layout == "transposed":
        return fill(shape[::-1]).T
    if layout == "stepped" and shape:
        wide = fill((*shape[:-1], shape[-1] * 2))
        return wide[..., ::2]
    return fill(shape)
