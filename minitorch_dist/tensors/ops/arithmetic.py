"""Arithmetic of two tensors, or of a tensor and a Python number, with broadcasting."""

from __future__ import annotations

from typing import Any

import numpy as np

from minitorch_dist.tensors import dtypes
from minitorch_dist.tensors.base import Array, Number, T, TensorBase
from minitorch_dist.tensors.graph import record, result
from minitorch_dist.tensors.views import inplace

# ------------------------------------------------------------------------------------ broadcasting


def sum_to(grad: Array, shape: tuple[int, ...]) -> Array:
    """Undo broadcasting: add up the gradient over the axes along which `shape` was repeated."""
    if grad.shape == shape:
        return grad
    extra = grad.ndim - len(shape)
    if extra:
        grad = grad.sum(tuple(range(extra)), dtype=grad.dtype)
    repeated = tuple(i for i, n in enumerate(shape) if n == 1 and grad.shape[i] != 1)
    return grad.sum(repeated, dtype=grad.dtype, keepdims=True) if repeated else grad


def broadcast_error(a: tuple[int, ...], b: tuple[int, ...]) -> RuntimeError:
    """torch's sentence for shapes that do not fit."""
    for back in range(1, min(len(a), len(b)) + 1):
        x, y = a[-back], b[-back]
        if x != y and 1 not in (x, y):
            axis = max(len(a), len(b)) - back
            return RuntimeError(
                f"The size of tensor a ({x}) must match the size of tensor b ({y}) at "
                f"non-singleton dimension {axis}"
            )
    raise AssertionError(f"shapes {a} and {b} do broadcast")


# --------------------------------------------------------------------------------------- promotion


def cast(self: T, dtype: dtypes.dtype) -> T:
    """`self` in another element type; recorded, so that its gradient is cast back."""
    if self.array.dtype == dtype.numpy:
        return self
    source = self.array.dtype
    out = self.array.astype(dtype.numpy)
    if not dtype.is_floating_point:
        return result(self, out)
    return record(out, "ToCopyBackward0", (self, lambda g: g.astype(source)))


def promote(self: T, other: T | Number, floating: bool = False) -> tuple[T, T]:
    """Both operands as tensors of the type their result has (`floating`: at least the default)."""
    if isinstance(other, TensorBase):
        tensors = (self, other)
        full = [t.dtype for t in tensors if t.array.ndim]
        zero = [t.dtype for t in tensors if not t.array.ndim]
        dtype = dtypes.result_of(
            dtypes.promote_types(full[0], full[-1]) if full else None,
            dtypes.promote_types(zero[0], zero[-1]) if zero else None,
            None,
        )
    else:
        if not isinstance(other, (int, float, np.number, np.bool_)):
            raise TypeError(
                f"expected a Tensor or a number as the other operand, not {type(other).__name__}"
            )
        zero_dim = self.array.ndim == 0
        own = self.dtype
        dtype = dtypes.result_of(
            None if zero_dim else own, own if zero_dim else None, dtypes.of_scalar(other)
        )
    if floating and not dtype.is_floating_point:
        dtype = dtypes.get_default_dtype()
    if not isinstance(other, TensorBase):
        number = np.asarray(other)
        with np.errstate(all="ignore"):
            return cast(self, dtype), result(self, number.astype(dtype.numpy))
    return cast(self, dtype), cast(other, dtype)


# The quick test below is the same everywhere: operands that need no promotion are used as they
# are. A Python float meets a floating array (and an int any number) without changing its type.


def plain(x: Array, other: Any) -> bool:
    return (type(other) is float or type(other) is int) and x.dtype.kind == "f"


# -------------------------------------------------------------------------------------- operations


def add(self: T, other: T | Number, *, alpha: Number = 1) -> T:
    """self + alpha * other"""
    if alpha != 1:
        other = mul(other, alpha) if isinstance(other, TensorBase) else other * alpha
    x = self.array
    if plain(x, other):
        return record(x + other, "AddBackward0", (self, lambda g: g))
    if not (isinstance(other, TensorBase) and other.array.dtype is x.dtype):
        self, other = promote(self, other)
        x = self.array
    y = other.array
    if x.dtype.kind == "b":
        return result(self, x | y)
    try:
        out = x + y
    except ValueError:
        raise broadcast_error(x.shape, y.shape) from None
    a, b = x.shape, y.shape
    return record(
        out, "AddBackward0", (self, lambda g: sum_to(g, a)), (other, lambda g: sum_to(g, b))
    )


def mul(self: T, other: T | Number) -> T:
    """self * other"""
    x = self.array
    if plain(x, other):
        return record(x * other, "MulBackward0", (self, lambda g: g * other))
    if not (isinstance(other, TensorBase) and other.array.dtype is x.dtype):
        self, other = promote(self, other)
        x = self.array
    y = other.array
    try:
        out = x * y
    except ValueError:
        raise broadcast_error(x.shape, y.shape) from None
    return record(
        out,
        "MulBackward0",
        (self, lambda g: sum_to(g * y, x.shape), other),
        (other, lambda g: sum_to(g * x, y.shape), self),
    )


add_ = inplace(add)
mul_ = inplace(mul)
