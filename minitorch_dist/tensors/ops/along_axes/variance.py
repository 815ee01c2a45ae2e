"""How far elements lie apart: variances and standard deviations.

`correction` is what is taken off the count of elements: 1 is Bessel's (the default), 0 is that of
a whole population. torch's older name for the choice is `unbiased`.
"""

from __future__ import annotations

import math
import warnings
from typing import Any

import numpy as np

from minitorch_dist.tensors import dtypes
from minitorch_dist.tensors.core.base import Array, Number, T
from minitorch_dist.tensors.core.graph import record
from minitorch_dist.tensors.core.operations import Dims, add_up, axes, numpy_names, spread
from minitorch_dist.tensors.core.without_warnings import without_warnings


@numpy_names
def var(
    input: T, dim: Dims = None, unbiased: bool | None = None, keepdim: bool = False, *, correction: Number | None = None
) -> T:
    """The mean squared distance from the mean, over `dim`"""
    return _spread_of("var", input, dim, unbiased, keepdim, correction, root=False)


@numpy_names
def std(
    input: T, dim: Dims = None, unbiased: bool | None = None, keepdim: bool = False, *, correction: Number | None = None
) -> T:
    """The root of the mean squared distance from the mean, over `dim`"""
    return _spread_of("std", input, dim, unbiased, keepdim, correction, root=True)


def _spread_of(name: str, input: T, dim: Any, unbiased: bool | None, keepdim: bool, correction: Any, root: bool) -> T:
    if isinstance(dim, bool):  # var(x, False): the only argument is `unbiased`
        dim, unbiased = None, dim
    if correction is not None and unbiased is not None:
        raise TypeError(f"{name}() takes `unbiased` or `correction`, not both")
    if correction is None:
        correction = 1 if unbiased is None else int(unbiased)
    x = input.array
    if not input.dtype.is_floating_point:
        raise RuntimeError(f"{name}() only supports floating point dtypes, but got {input.dtype}")
    over, shape = axes(dim, x.ndim), x.shape
    count = math.prod([shape[i] for i in over])
    freedom = count - correction
    if freedom <= 0:
        warnings.warn(f"{name}(): degrees of freedom is <= 0 for {count} - {correction} elements", stacklevel=4)

    def measured() -> tuple[Array, Array]:
        wide = x.astype(np.float32) if x.dtype in dtypes.HALVES else x
        mean = add_up(wide, over, keepdims=True) / count
        apart = wide - mean
        apart *= apart
        square = add_up(apart, over, keepdims=True) / apart.dtype.type(max(freedom, 0))
        return mean, np.sqrt(square) if root else square

    mean, wide_out = without_warnings(measured)
    out = np.asanyarray(wide_out if keepdim or not over else wide_out.squeeze(over)).astype(x.dtype)

    def backward(g: Array) -> Any:
        if root:  # of equal elements the deviation is 0, and has no slope; torch says 0
            std = wide_out.reshape(g.shape)
            g = np.where(std == 0, 0, g / (2 * std)).astype(g.dtype)
        slope = np.asanyarray(spread(g, shape, over, keepdim) * 2 * (x - mean) / freedom)
        return slope.astype(x.dtype, copy=False)

    return record(out, f"{name.title()}Backward0", (input, backward, input))
