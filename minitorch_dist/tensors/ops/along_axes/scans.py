"""Running sums along an axis. Their gradients run the other way: from each place to the end."""

from __future__ import annotations

import numpy as np

from minitorch_dist.tensors import dtypes
from minitorch_dist.tensors.core.base import Array, T
from minitorch_dist.tensors.core.graph import record
from minitorch_dist.tensors.core.operations import axis
from minitorch_dist.tensors.core.without_warnings import silent
from minitorch_dist.tensors.ops.elementwise.copying import row_major
from minitorch_dist.tensors.promotion import cast


@silent
def _sums(x: Array, along: int) -> Array:
    """A running total; half precision is added up in float32 and rounded at every place."""
    if not x.ndim:
        return x.copy()
    if x.dtype in dtypes.HALVES:
        return np.asanyarray(np.add.accumulate(x.astype(np.float32), along).astype(x.dtype))
    return np.asanyarray(np.add.accumulate(x, along, dtype=x.dtype))


def _from_the_end(x: Array, along: int) -> Array:
    if not x.ndim:
        return x.copy()
    return row_major(np.flip(_sums(np.flip(x, along), along), along))


def _typed(input: T, dtype: dtypes.dtype | None) -> T:
    """Whole numbers are added up in int64."""
    kind = dtype or (input.dtype if input.dtype.category >= dtypes.FLOATING else dtypes.int64)
    return cast(input, kind)


def cumsum(input: T, dim: int, *, dtype: dtypes.dtype | None = None) -> T:
    """Running sums."""
    along = axis(dim, input.array.ndim)
    input = _typed(input, dtype)
    return record(_sums(input.array, along), "CumsumBackward0", (input, lambda g: _from_the_end(g, along)))
