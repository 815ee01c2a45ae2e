"""The common parts of operations on square matrices: checks, errors, transposes. Also trace, cross product, powers."""

from __future__ import annotations

import numpy as np

from minitorch_dist.tensors import dtypes
from minitorch_dist.tensors.core.base import T
from minitorch_dist.tensors.core.graph import record, result
from minitorch_dist.tensors.masks import only
from minitorch_dist.tensors.ops import autocasting

# ------------------------------------------------------------------------------------------- products


@autocasting.full
def trace(input: T) -> T:
    """The sum of the diagonal."""
    x = input.array
    if x.ndim != 2:
        raise RuntimeError(f"trace: expected a matrix, but got tensor with dim {x.ndim}")
    if input.dtype.category < dtypes.FLOATING:
        return result(input, np.trace(x, dtype=np.int64))
    wide = np.float32 if x.dtype in dtypes.HALVES else x.dtype
    shape, dtype = x.shape, x.dtype
    out = np.asanyarray(np.diagonal(x).sum(dtype=wide)).astype(dtype)
    return record(
        out, "TraceBackward0", (input, lambda g: only(g, np.eye(*shape, dtype=bool, like=g)))
    )
