"""The first operations: products and sums, of two tensors and along axes.

An operation takes arrays out of tensors, computes with numpy, and records how the gradient of its
result becomes the gradients of its inputs. `mul` shows all of it. The other operations (`tensors.ops`)
have the same form.
"""

from __future__ import annotations

import functools
import math
import operator
from collections.abc import Callable, Sequence
from typing import Any, TypeAlias, TypeVar

import numpy as np

from minitorch_dist.tensors.core import rare_cases
from minitorch_dist.tensors.core.base import Array, Number, T, TensorBase
from minitorch_dist.tensors.core.graph import record
from minitorch_dist.tensors.core.without_warnings import enter_silence, leave_silence

Dims: TypeAlias = "int | Sequence[int] | None"
F = TypeVar("F", bound=Callable[..., Any])
add_up: Any = np.add.reduce


def mul(input: T, other: T | Number) -> T:
    """input * other"""
    if not (isinstance(other, TensorBase) and isinstance(input, TensorBase)):
        return times(input, other)
    if input.array.dtype is not other.array.dtype:
        input, other = rare_cases.promote(input, other)
    x, y = input.array, other.array
    a, b = x.shape, y.shape
    return record(
        compute(np.multiply, x, y),
        "MulBackward0",
        (input, lambda g: sum_to(g * y, a), other),
        (other, lambda g: sum_to(g * x, b), input),
    )


def compute(function: Callable[..., Any], *operands: Any) -> Any:
    """function(*operands), silently; operands that it does not take are an error in torch's words."""
    before = enter_silence()
    try:
        return function(*operands)
    except (ValueError, TypeError):
        raise rare_cases.misfit(function, *operands) from None
    finally:
        leave_silence(before)


def sum_to(grad: Array, shape: tuple[int, ...]) -> Array:
    """Undo broadcasting: add up the gradient over the axes along which `shape` was repeated."""
    return grad if grad.shape == shape else _folded(grad, shape)


def _folded(grad: Array, shape: tuple[int, ...]) -> Array:
    if grad.itemsize == 2:  # halves add up in float32 and round once
        return _folded(grad.astype(np.float32), shape).astype(grad.dtype)
    extra = grad.ndim - len(shape)
    if extra:
        grad = grad.sum(tuple(range(extra)), dtype=grad.dtype)
    repeated = tuple(i for i, n in enumerate(shape) if n == 1 and grad.shape[i] != 1)
    return grad.sum(repeated, dtype=grad.dtype, keepdims=True) if repeated else grad


def times(input: T | Number, number: T | Number) -> T:
    """A tensor times a number, whichever comes first."""
    if not isinstance(input, TensorBase):
        input, number = rare_cases.swapped(input, number)
    if not plain(input.array, number):
        return mul(*rare_cases.promote(input, number))
    return record(
        with_number(np.multiply, input.array, number),
        "MulBackward0",
        (input, lambda g: with_number(np.multiply, g, number), None),
    )


def add(input: T, other: T | Number, *, alpha: Number = 1) -> T:
    """input + alpha * other"""
    if alpha != 1 or alpha is True:
        other = rare_cases.scaled(input, other, alpha)
    if not (isinstance(other, TensorBase) and isinstance(input, TensorBase)):
        return plus(input, other)
    if input.array.dtype is not other.array.dtype:
        input, other = rare_cases.promote(input, other)
    x, y = input.array, other.array
    a, b = x.shape, y.shape
    return record(
        compute(np.add, x, y), "AddBackward0", (input, lambda g: sum_to(g, a)), (other, lambda g: sum_to(g, b))
    )


def plus(input: T | Number, number: T | Number) -> T:
    """A tensor plus a number, whichever comes first."""
    if not isinstance(input, TensorBase):
        input, number = rare_cases.swapped(input, number)
    if not plain(input.array, number):
        return add(*rare_cases.promote(input, number))
    out = with_number(np.add, input.array, number)
    return record(out, "AddBackward0", (input, lambda g: g))


def plain(x: Array, other: Any) -> bool:
    """Whether `other` is a number that meets `x` without changing its type."""
    return (type(other) is float or type(other) is int) and x.dtype.kind not in "iub"


def with_number(function: Callable[[Array, Any], Any], x: Array, number: Any) -> Any:
    """function(x, number) for a floating x. Halves compute in float32 and round once."""
    before = enter_silence()
    try:
        if x.dtype.char in "fdFD":
            return function(x, number)
        return function(x.astype(np.float32), number).astype(x.dtype)
    finally:
        leave_silence(before)


# ------------------------------------------------------------------------------ Python's operators


class NotAnOperand(TypeError):
    """An operator turns it into NotImplemented, so that Python asks the other operand."""


def binary(operation: Callable[..., Any]) -> Callable[[T, Any], T]:
    """The operator `self ∘ other`"""

    def operator(self: Any, other: Any) -> Any:
        try:
            return operation(self, other)
        except NotAnOperand:
            return _with_foreign(operation, self, other)

    return operator


def _with_foreign(operation: Callable[..., Any], self: Any, other: Any) -> Any:
    """An array is taken in as a tensor; anything else may know the answer itself."""
    if isinstance(other, np.ndarray):
        return operation(self, rare_cases.taken_in(self, other))
    return NotImplemented


def reflected(operation: Callable[..., Any]) -> Callable[[T, Any], T]:
    """The operator `other ∘ self`, asked when `other` did not know the answer.

    `operation(self, other)` computes it: `rsub` for a minus.
    """

    def operator(self: Any, other: Any) -> Any:
        try:
            return operation(self, other)
        except NotAnOperand:
            return NotImplemented

    return operator


# -------------------------------------------------------------------------------------- along axes


def numpy_names(function: F) -> F:
    """Let `axis` and `keepdims` stand for `dim` and `keepdim`, as torch does for users of numpy."""

    @functools.wraps(function)
    def renamed(*args: Any, **kwargs: Any) -> Any:
        return function(*args, **(_in_torch_names(kwargs) if kwargs else kwargs))

    return renamed  # type: ignore[return-value]


def _in_torch_names(options: dict[str, Any]) -> dict[str, Any]:
    for numpy_name, name in (("axis", "dim"), ("keepdims", "keepdim")):
        if numpy_name in options and name not in options:
            options[name] = options.pop(numpy_name)
    return options


def axes(dim: Dims, ndim: int) -> tuple[int, ...]:
    """The axes `dim` names, as non-negative numbers; None and () name all of them."""
    return tuple(range(ndim)) if dim is None or is_empty(dim) else _named(dim, ndim)


def _named(dim: int | Sequence[int], ndim: int) -> tuple[int, ...]:
    given = tuple(dim) if isinstance(dim, (tuple, list)) else (operator.index(dim),)  # type: ignore[arg-type]
    found = tuple([axis(d, ndim) for d in given])
    if len(set(found)) != len(found):
        raise RuntimeError(f"dim {found[0]} appears multiple times in the list of dims")
    return found if ndim else ()


def is_empty(dim: Dims) -> bool:
    return isinstance(dim, (tuple, list)) and not dim


def axis(dim: int, ndim: int) -> int:
    """One axis as a non-negative number."""
    limit = max(ndim, 1)
    if not -limit <= dim < limit:
        raise IndexError(f"Dimension out of range (expected to be in range of [{-limit}, {limit - 1}], but got {dim})")
    return dim % limit


def spread(grad: Array, shape: tuple[int, ...], over: tuple[int, ...], keepdim: bool) -> Array:
    """Undo a reduction: repeat the gradient along the axes that were reduced, perhaps as a read-only view."""
    if not keepdim and shape:
        grad = grad.reshape([1 if i in over else n for i, n in enumerate(shape)])
    if math.prod(shape) > 10_000:  # for few elements a copy is quicker
        return np.broadcast_to(grad, shape)
    out = np.empty(shape, grad.dtype, like=np.asanyarray(grad))
    out[...] = grad
    return out


def total(x: Array, over: tuple[int, ...], keepdim: bool) -> Any:
    """The sum of a floating array, computed in its own type; that of halves in float32."""
    kind = np.float32 if x.itemsize == 2 else x.dtype
    out = compute(add_up, x, over, kind, None, keepdim)
    return out if kind is x.dtype else compute(np.asanyarray(out).astype, x.dtype)


@numpy_names
def sum(input: T, dim: Dims = None, keepdim: bool = False, *, dtype: Any = None) -> T:
    """The sum over `dim`; integers add up in int64."""
    x = input.array
    if dtype is not None or x.dtype.kind in "iub":
        return rare_cases.sum_as(dtype, input, dim, keepdim)
    over, shape = axes(dim, x.ndim), x.shape
    return record(
        total(x, over, keepdim),
        "SumBackward0" if dim is None else "SumBackward1",
        (input, lambda g: spread(g, shape, over, keepdim)),
    )
