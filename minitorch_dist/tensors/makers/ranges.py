"""Evenly spaced numbers, the identity, and the indices of triangles."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from minitorch_dist.tensors import dtypes
from minitorch_dist.tensors.core.base import Array, TensorBase
from minitorch_dist.tensors.ops.making.literals import as_dtype
from minitorch_dist.tensors.ops.making.new_arrays import Device, Dtype, made, numpy_dtype, sizes
from minitorch_dist.tensors.promotion import not_implemented
from minitorch_dist.tensors.tensor import Tensor


def _number(value: Any, name: str) -> float:
    """A Python number, or the one inside a 0-dim tensor."""
    if isinstance(value, TensorBase):
        if value.array.ndim:
            raise RuntimeError(f"{name} only supports 0-dimensional tensors for start and end")
        return value.array.item() if value.dtype.category != dtypes.FLOATING else float(value.array)
    if isinstance(value, np.generic):
        value = value.item()
    if not isinstance(value, (int, float)):
        raise TypeError(f"{name}(): bounds must be numbers, not {type(value).__name__}")
    return value


def arange(
    *bounds: Any,
    start: Any = None,
    end: Any = None,
    step: Any = 1,
    dtype: Dtype = None,
    device: Device = None,
    requires_grad: bool = False,
) -> Tensor:
    """start, start + step, … below end. Whole numbers give int64, others the default dtype.

    Args:
        *bounds: end, or start and end, or start, end and step.
        start: The first number, by name.
        end: The bound, which is left out.
        step: The distance of two numbers.
        dtype: The type of its elements.
        device: The simulated device that holds the result, the CPU by default.
        requires_grad: Whether autograd records operations on it.

    Returns:
        The tensor, of one dimension.

    Example:
        >>> torch.arange(1, 7, 2).tolist()
        [1, 3, 5]
    """
    if len(bounds) > 3:
        raise TypeError(f"arange() takes at most 3 positional arguments, not {len(bounds)}")
    if len(bounds) == 1 and end is None:
        end = bounds[0]
    elif bounds:
        start, end, step = (*bounds, *(end, step)[len(bounds) - 1 :])
    if end is None:
        raise TypeError("arange() needs an end")
    low, high, by = (_number(x, "arange") for x in (0 if start is None else start, end, step))
    if dtype is not None:
        kind = as_dtype(dtype)
    else:
        floating = any(isinstance(x, float) for x in (low, high, by))
        kind = dtypes.get_default_dtype() if floating else dtypes.int64
    if kind is dtypes.bool_:
        raise not_implemented("arange_cpu", np.empty(0, kind.numpy))
    return made(_steps(low, high, by, kind), device, requires_grad)


def _steps(low: Any, high: Any, by: Any, kind: dtypes.dtype) -> Array:
    """low + i · by for every i that stays below high."""
    if by == 0:
        raise RuntimeError("step must be nonzero")
    if not (math.isfinite(low) and math.isfinite(high)):
        raise RuntimeError(f"unsupported range: {low} -> {high}")
    if (high - low) * by < 0:
        raise RuntimeError("upper bound and lower bound inconsistent with step sign")
    steps = np.arange(math.ceil((high - low) / by), dtype=np.float64 if kind.is_floating_point else np.int64)
    if not kind.is_floating_point:  # a bound between whole numbers still counts as it stands
        low, by = int(low), int(by)
    return np.asanyarray((low + by * steps).astype(kind.numpy))


def _even(start: Any, end: Any, steps: int) -> Array:
    """`steps` numbers from start to end in float64, counted from both ends, so that both are exact."""
    low, high = _number(start, "linspace"), _number(end, "linspace")
    if steps < 0:
        raise RuntimeError(f"number of steps must be non-negative, got {steps}")
    if steps == 1:
        return np.array([low * 1.0])
    by = (high - low) / max(steps - 1, 1)
    i = np.arange(steps)
    return np.asanyarray(np.where(i < steps // 2, low + by * i, high - by * (steps - 1 - i)))


def linspace(
    start: Any, end: Any, steps: int, *, dtype: Dtype = None, device: Device = None, requires_grad: bool = False
) -> Tensor:
    """`steps` numbers from start to end, both included."""
    found = _even(start, end, steps)
    return made(found.astype(numpy_dtype(dtype)), device, requires_grad)


def eye(
    n: int, m: int | None = None, *, dtype: Dtype = None, device: Device = None, requires_grad: bool = False
) -> Tensor:
    """Ones on the diagonal, zeros elsewhere."""
    sizes("eye", (n, n if m is None else m))
    return made(np.eye(n, m, dtype=numpy_dtype(dtype)), device, requires_grad)
