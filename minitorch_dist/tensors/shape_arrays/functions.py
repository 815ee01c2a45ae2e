"""Answers of `np.concatenate` and its kin, and the methods of an array that compute.

numpy's functions are of three kinds. Some are written in Python, and call others that are answered here: they run as
they are. For those in C a rule stands here. Those whose result has a shape that depends on the numbers raise
`NumbersNeeded`. Any other function raises NotImplementedError, which names it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from minitorch_dist.tensors.shape_arrays import layouts
from minitorch_dist.tensors.shape_arrays.array import HANDLERS, NumbersNeeded, ShapeArray
from minitorch_dist.tensors.shape_arrays.ufuncs import axes_of, reduced

Array = np.ndarray[Any, Any]
F = Callable[..., Any]

AS_THEY_ARE: set[Any] = {
    np.all, np.amax, np.amin, np.any, np.argwhere, np.atleast_1d, np.atleast_2d, np.clip, np.diff, np.expand_dims,
    np.flip, np.iscomplexobj, np.isneginf, np.isposinf, np.max, np.mean, np.min, np.moveaxis, np.ndim, np.prod,
    np.put_along_axis, np.reshape, np.shape, np.size, np.squeeze, np.stack, np.sum, np.swapaxes, np.take_along_axis,
    np.transpose, np.matrix_transpose, np.diagonal, np.roll,
}  # fmt: skip
NEED_NUMBERS: set[Any] = {np.nonzero, np.flatnonzero, np.unique, np.array_equal}
RULES: dict[Any, F] = {}


def rule_of(func: Any) -> F | None:
    """The rule that answers this function; None if its own text may run."""
    if func in RULES or func in AS_THEY_ARE:
        return RULES.get(func)
    if func in NEED_NUMBERS:
        raise NumbersNeeded(f"np.{func.__name__}")
    raise NotImplementedError(f"there is no rule for np.{func.__name__} of arrays without numbers")


def rule(*functions: Any) -> Callable[[F], F]:
    def enter(function: F) -> F:
        for each in functions:
            RULES[each] = function
        return function

    return enter


def method(function: F) -> F:
    """Enter it as a method of ShapeArray, too."""
    setattr(ShapeArray, function.__name__, function)
    return function


def ones(x: Any) -> Any:
    """A stand-in for `x` of one element, which numpy can compute with."""
    return np.ones((1,) * x.ndim, x.dtype) if isinstance(x, np.ndarray) else x


# ---------------------------------------------------------------------------------------- making


@rule(np.empty_like, np.zeros_like, np.ones_like)
def empty_like(prototype: Any, dtype: Any = None, order: str = "K", subok: bool = True, shape: Any = None, **_: Any) -> Array:  # fmt: skip
    return layouts.like(prototype, None if shape is None else _shape(shape), dtype, order)


@rule(np.full_like)
def full_like(a: Any, fill_value: Any, dtype: Any = None, order: str = "K", subok: bool = True, shape: Any = None, **_: Any) -> Array:  # fmt: skip
    if not isinstance(a, ShapeArray):  # only the value has no numbers
        a = layouts.like(a)
    return empty_like(a, dtype, order, shape=shape)  # type: ignore[no-any-return]


@rule(np.empty, np.zeros, np.ones)
def empty(shape: Any, dtype: Any = None, order: str = "C", **_: Any) -> Array:
    kind, sides = np.dtype(np.float64 if dtype is None else dtype), _shape(shape)
    if order == "F":
        return layouts.packed(sides, kind, range(len(sides))[::-1])
    return ShapeArray(sides, kind)


@rule(np.full)
def full(shape: Any, fill_value: Any, dtype: Any = None, order: str = "C", **_: Any) -> Array:
    kind = np.asarray(fill_value).dtype if dtype is None else dtype
    return empty(shape, kind, order)  # type: ignore[no-any-return]


@rule(np.array, np.asarray, np.asanyarray)
def array(object: Any, dtype: Any = None, **_: Any) -> Array:
    found = object if isinstance(object, np.ndarray) else np.array(object)
    return layouts.like(found, dtype=dtype)


@rule(np.ascontiguousarray)
def ascontiguousarray(a: Any, dtype: Any = None) -> Array:
    return astype(a, a.dtype if dtype is None else dtype, "C", copy=False)  # type: ignore[no-any-return]


@rule(np.arange)
def arange(*ends: int, dtype: Any = np.intp) -> Array:
    """From 0, or from the first of two ends; numbers that are no integers are no use to anybody here."""
    return ShapeArray((len(range(*ends)),), dtype)


@rule(np.copy)
@method
def copy(a: Any, order: str = "C", **_: Any) -> Array:
    return layouts.like(a, order=order)


@rule(np.astype)
@method
def astype(x: Any, dtype: Any, order: str = "K", casting: Any = "unsafe", subok: bool = True, copy: bool = True, **_: Any) -> Array:  # fmt: skip
    kind = np.dtype(dtype)
    if not copy and kind == x.dtype and (order in "KA" or np.ndarray.flags.__get__(x).c_contiguous):
        return x  # type: ignore[no-any-return]
    made = layouts.like(x, dtype=kind, order=order)
    made.is_scalar = getattr(x, "is_scalar", False)
    return made


def _shape(shape: Any) -> tuple[int, ...]:
    return tuple(shape) if isinstance(shape, (tuple, list)) else (int(shape),)


# ---------------------------------------------------------------------------------- other shapes


@method
def reshape(self: ShapeArray, *shape: Any, order: Any = "C", copy: bool | None = None) -> Array:
    try:
        return np.ndarray.reshape(self, *shape, order=order, copy=False)
    except ValueError as error:
        if "avoid" not in str(error):
            raise
    return np.ndarray.reshape(layouts.like(self, order="C"), *shape, order=order)


@method
def ravel(self: ShapeArray, order: Any = "C") -> Array:
    if order == "K" and self.flags.forc:
        return self.window((self.size,), (self.itemsize,))
    return reshape(self, -1)  # type: ignore[no-any-return]


@method
def flatten(self: ShapeArray, order: Any = "C") -> Array:
    return ShapeArray((self.size,), self.dtype)


@rule(np.broadcast_to)
def broadcast_to(array: Any, shape: Any, subok: bool = False) -> Array:
    sides = _shape(shape)
    extra = len(sides) - array.ndim
    if extra < 0 or any(n not in (1, m) for n, m in zip(array.shape, sides[extra:], strict=True)):
        raise ValueError(
            f"operands could not be broadcast together with remapped shapes {array.shape} and {sides}"
        )
    steps = [
        0 if n != m else s
        for n, m, s in zip(array.shape, sides[extra:], array.strides, strict=True)
    ]
    return array.window(sides, (0,) * extra + tuple(steps))  # type: ignore[no-any-return]


@rule(np.concatenate)
def concatenate(arrays: Any, axis: int | None = 0, out: Any = None, *, dtype: Any = None, casting: Any = None) -> Any:  # fmt: skip
    given = [a if isinstance(a, np.ndarray) else np.asarray(a) for a in arrays]
    if axis is None:
        given, axis = [a.reshape(-1) for a in given], 0
    first = given[0]
    (along,) = axes_of(axis, first.ndim)
    for each in given:
        same = each.ndim == first.ndim and all(
            n == m
            for a, (n, m) in enumerate(zip(each.shape, first.shape, strict=True))
            if a != along
        )
        if not same:
            raise ValueError(
                "all the input array dimensions except for the concatenation axis must match exactly, but they are "
                + ", ".join(str(a.shape) for a in given)
            )
    total = sum(a.shape[along] for a in given)
    shape = (*first.shape[:along], total, *first.shape[along + 1 :])
    if out is not None:
        return out
    kind = np.result_type(*[a.dtype for a in given]) if dtype is None else dtype
    return layouts.joined(shape, kind, given)


@rule(np.repeat)
@method
def repeat(a: Any, repeats: Any, axis: int | None = None) -> Array:
    if axis is None:
        a, axis = a.reshape(-1), 0
    (along,) = axes_of(axis, a.ndim)
    if isinstance(repeats, ShapeArray):
        if repeats.size:
            raise NumbersNeeded("how often each element is repeated")
        repeats = np.zeros(repeats.shape, np.intp)
    counts = np.broadcast_to(np.asarray(repeats), (a.shape[along],))
    return ShapeArray((*a.shape[:along], int(counts.sum()), *a.shape[along + 1 :]), a.dtype)


@rule(np.tile)
def tile(A: Any, reps: Any) -> Array:
    times = _shape(reps)
    if all(n == 1 for n in times):
        return layouts.like(A).reshape((1,) * (len(times) - A.ndim) + A.shape)  # type: ignore[no-any-return]
    ndim = max(A.ndim, len(times))
    sides = (1,) * (ndim - A.ndim) + A.shape
    times = (1,) * (ndim - len(times)) + times
    return ShapeArray(tuple(n * m for n, m in zip(sides, times, strict=True)), A.dtype)


@rule(np.diag)
def diag(v: Any, k: int = 0) -> Array:
    if v.ndim == 2:
        return np.diagonal(v, k)
    side = len(v) + abs(k)
    return ShapeArray((side, side), v.dtype)


# -------------------------------------------------------------------------------- choosing, sorting


@rule(np.where)
def where(condition: Any, x: Any = None, y: Any = None, /) -> Any:
    if x is None:
        raise NumbersNeeded("the places where a mask is true")
    operands = (condition, x, y)
    shape = np.broadcast_shapes(*map(np.shape, operands))
    kind = np.result_type(*[a.dtype if isinstance(a, np.ndarray) else a for a in (x, y)])
    return layouts.result(shape, kind, operands)


@rule(np.copyto)
def copyto(dst: Any, src: Any, casting: Any = "same_kind", where: Any = True) -> None:
    if not isinstance(dst, ShapeArray):
        if isinstance(src, ShapeArray):
            raise TypeError("np.copyto would write an array without numbers into one with numbers")
        raise NumbersNeeded("which elements of an array with numbers are overwritten")
    dst[...] = src


@rule(np.take)
@method
def take(
    a: Any, indices: Any, axis: int | None = None, out: Any = None, mode: Any = "raise"
) -> Array:
    if not isinstance(a, np.ndarray) or axis is None:
        a, axis = np.asanyarray(a).reshape(-1), 0
    (along,) = axes_of(axis, a.ndim)
    index = indices if isinstance(indices, np.ndarray) else np.asarray(indices)
    if not isinstance(index, ShapeArray) and index.size and mode == "raise":
        side = a.shape[along]
        for number in (int(index.min()), int(index.max())):
            if not -side <= number < side:
                raise IndexError(
                    f"index {number} is out of bounds for axis {axis} with size {side}"
                )
    return ShapeArray((*a.shape[:along], *index.shape, *a.shape[along + 1 :]), a.dtype)


@rule(np.argmax, np.argmin)
def argmax(a: Any, axis: int | None = None, out: Any = None, *, keepdims: bool = False) -> Array:
    if not a.size and (axis is None or not a.shape[axis]):
        raise ValueError("attempt to get argmax of an empty sequence")
    found = reduced(a, axis, keepdims, np.intp)
    return ShapeArray(found.shape, np.intp)


ShapeArray.argmax = ShapeArray.argmin = argmax  # type: ignore[method-assign]


@rule(np.count_nonzero)
def count_nonzero(a: Any, axis: Any = None, *, keepdims: bool = False) -> Array:
    return reduced(a, axis, keepdims, np.intp)


@rule(np.argsort)
@method
def argsort(
    a: Any, axis: int | None = -1, kind: Any = None, order: Any = None, *, stable: Any = None
) -> Array:
    axes_of(axis, a.ndim)
    return ShapeArray(a.shape if axis is not None else (a.size,), np.intp)


@method
def partition(self: ShapeArray, *args: Any, **kwargs: Any) -> None:
    """In place."""


ShapeArray.sort = partition  # type: ignore[method-assign]
ShapeArray.fill = partition  # type: ignore[method-assign]
ShapeArray.put = partition  # type: ignore[method-assign]


@rule(np.searchsorted)
def searchsorted(a: Any, v: Any, side: Any = "left", sorter: Any = None) -> Array:
    return ShapeArray(np.shape(v), np.intp)


@method
def nonzero(self: ShapeArray) -> Any:
    raise NumbersNeeded("the places of elements that are not zero")


# ------------------------------------------------------------------------------- sums and products


@rule(np.cumsum)
@method
def cumsum(a: Any, axis: int | None = None, dtype: Any = None, out: Any = None) -> Any:
    if axis is None:
        a, axis = a.reshape(-1), 0
    return np.add.accumulate(a, axis, dtype, out)


@rule(np.trace)
@method
def trace(
    a: Any, offset: int = 0, axis1: int = 0, axis2: int = 1, dtype: Any = None, out: Any = None
) -> Any:
    return np.diagonal(a, offset, axis1, axis2).sum(-1, dtype=dtype)


@rule(np.dot)
@method
def dot(a: Any, b: Any, out: Any = None) -> Any:
    if not np.ndim(a) or not np.ndim(b):
        return np.multiply(a, b)
    if a.ndim > 2 or b.ndim > 2:
        raise NotImplementedError(
            f"there is no rule for np.dot of arrays of {a.ndim} and {b.ndim} dimensions"
        )
    return np.matmul(a, b)


@rule(np.eye, np.tri)
def eye(N: int, M: int | None = None, k: int = 0, dtype: Any = float, **_: Any) -> Array:
    return ShapeArray((N, N if M is None else M), dtype)


@rule(np.shares_memory, np.may_share_memory)
def shares_memory(a: Any, b: Any, max_work: Any = None) -> bool:
    return _owner(a) is _owner(b)


def _owner(x: Any) -> Any:
    while isinstance(getattr(x, "base", None), np.ndarray):
        x = x.base
    return x


@rule(np.result_type)
def result_type(*operands: Any) -> Any:
    return np.result_type(*[x.dtype if isinstance(x, np.ndarray) else x for x in operands])


@rule(np.linalg.qr)
def qr(a: Any) -> Any:
    like: Any = np.linalg.qr(np.eye(1))
    (m, n), kind = a.shape, np.linalg.qr(np.eye(1, dtype=a.dtype))[0].dtype
    side = min(m, n)
    return type(like)(ShapeArray((m, side), kind), ShapeArray((side, n), kind))


@rule(np.linalg.norm)
def norm(x: Any, ord: Any = None, axis: Any = None, keepdims: bool = False) -> Array:
    return reduced(np.sqrt(x), axis, keepdims, np.sqrt(ones(x)).dtype)


HANDLERS["function"] = rule_of
