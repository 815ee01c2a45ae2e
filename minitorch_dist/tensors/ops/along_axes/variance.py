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
from minitorch_dist.tensors.autograd.joint import record_several
from minitorch_dist.tensors.core.base import Array, Number, T
from minitorch_dist.tensors.core.graph import record
from minitorch_dist.tensors.core.operations import Dims, add_up, axes, numpy_names, spread
from minitorch_dist.tensors.core.without_warnings import without_warnings


class Moments:
    """The mean and the variance of an array over some axes."""

    def __init__(
        self, name: str, x: Array, dim: Any, unbiased: Any, keepdim: bool, correction: Any
    ):
        if isinstance(dim, bool):  # var(x, False): the only argument is `unbiased`
            dim, unbiased = None, dim
        if unbiased is not None:
            if correction is not None:
                raise TypeError(f"{name}() takes `unbiased` or `correction`, not both")
            correction = int(unbiased)
        if x.dtype.kind in "iub":
            raise RuntimeError("std and var only support floating point and complex dtypes")
        self.x, self.over, self.keepdim = x, axes(dim, x.ndim), keepdim
        self.count = math.prod([x.shape[i] for i in self.over])
        self.freedom = self.count - (1 if correction is None else correction)
        if self.freedom <= 0:
            warnings.warn(
                f"{name}(): degrees of freedom is <= 0. Correction should be strictly less than "
                "the reduction factor (input numel divided by output numel).",
                UserWarning,
                stacklevel=4,
            )
        without_warnings(self._measure)

    def _measure(self) -> None:
        wide = self.x.astype(np.float32) if self.x.dtype in dtypes.HALVES else self.x
        mean = add_up(wide, self.over, keepdims=True) / self.count
        apart = wide - mean
        if apart.dtype.kind == "c":
            apart = np.abs(apart)
        apart *= apart
        var = add_up(apart, self.over, keepdims=True) / apart.dtype.type(max(self.freedom, 0))
        if not self.keepdim and self.over:
            mean, var = mean.squeeze(self.over), var.squeeze(self.over)
        self.dtype = var.dtype if wide is self.x else self.x.dtype
        self.mean, self.var = np.asanyarray(mean), np.asanyarray(var)

    def var_gradient(self, g: Array) -> Array:
        mean = spread(self.mean, self.x.shape, self.over, self.keepdim)
        factor = spread(g, self.x.shape, self.over, self.keepdim) * 2
        slope = np.asanyarray(factor * (self.x - mean) / self.freedom)
        return slope.astype(self.x.dtype, copy=False)  # type: ignore[no-any-return]

    def std_gradient(self, g: Array) -> Array:
        """Of equal elements the deviation is 0, and has no slope; torch says 0."""
        std = np.sqrt(self.var)
        return self.var_gradient(np.where(std == 0, 0, g / (2 * std)).astype(g.dtype))

    def mean_gradient(self, g: Array) -> Array:
        return spread(g / self.count, self.x.shape, self.over, self.keepdim)


@numpy_names
def var(
    input: T,
    dim: Dims = None,
    unbiased: bool | None = None,
    keepdim: bool = False,
    *,
    correction: Number | None = None,
) -> T:
    """The mean squared distance from the mean, over `dim`"""
    m = Moments("var", input.array, dim, unbiased, keepdim, correction)
    out = m.var.astype(m.dtype)
    return record(out, "VarBackward0", (input, m.var_gradient, input))


@numpy_names
def std(
    input: T,
    dim: Dims = None,
    unbiased: bool | None = None,
    keepdim: bool = False,
    *,
    correction: Number | None = None,
) -> T:
    """The root of the mean squared distance from the mean, over `dim`"""
    m = Moments("std", input.array, dim, unbiased, keepdim, correction)
    out = without_warnings(np.sqrt, m.var).astype(m.dtype)
    return record(out, "StdBackward0", (input, m.std_gradient, input))


@numpy_names
def var_mean(
    input: T,
    dim: Dims = None,
    unbiased: bool | None = None,
    keepdim: bool = False,
    *,
    correction: Number | None = None,
) -> tuple[T, T]:
    """The variance and the mean, over `dim`"""
    m = Moments("var_mean", input.array, dim, unbiased, keepdim, correction)
    return _with_mean(input, m, "VarMeanBackward0", m.var, m.var_gradient)


@numpy_names
def std_mean(
    input: T,
    dim: Dims = None,
    unbiased: bool | None = None,
    keepdim: bool = False,
    *,
    correction: Number | None = None,
) -> tuple[T, T]:
    """The standard deviation and the mean, over `dim`"""
    m = Moments("std_mean", input.array, dim, unbiased, keepdim, correction)
    return _with_mean(
        input, m, "StdMeanBackward0", without_warnings(np.sqrt, m.var), m.std_gradient
    )


def _with_mean(input: T, m: Moments, name: str, measure: Array, gradient: Any) -> tuple[T, T]:
    def backward(g: Array | None, g_mean: Array | None) -> tuple[Array]:
        parts = [] if g is None else [gradient(g)]
        if g_mean is not None:
            parts.append(m.mean_gradient(g_mean))
        return (parts[0] if len(parts) == 1 else parts[0] + parts[1],)

    first, second = record_several(
        (measure.astype(m.dtype), m.mean.astype(m.x.dtype)),
        name,
        (input,),
        backward,
        reads=(input,),
    )
    return first, second
