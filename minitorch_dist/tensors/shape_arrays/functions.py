"""Answers of `np.concatenate` and its kin, and the methods of an array that compute.

numpy's functions are of four kinds. Some are written in Python, and call others that are answered here: they run as
they are. Most others are asked with small arrays (`answers`); a rule stands here where the result has a side that none of the
operands has. Those whose shape depends on the numbers raise `NumbersNeeded`. Any other function raises
NotImplementedError, which names it.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np

from minitorch_dist.tensors.shape_arrays.answers import Form, ask, forms, laid_out, like
from minitorch_dist.tensors.shape_arrays.array import HANDLERS, NumbersNeeded, ShapeArray
from minitorch_dist.tensors.shape_arrays.selection import check_range

Array = np.ndarray[Any, Any]
F = Callable[..., Any]

AS_THEY_ARE: set[Any] = {
    np.all, np.amax, np.amin, np.any, np.argwhere, np.array_split, np.split, np.atleast_1d, np.clip, np.diff, np.expand_dims, np.flip,
    np.isneginf, np.max, np.mean, np.min, np.moveaxis, np.ndim, np.prod, np.put_along_axis, np.reshape, np.roll, np.shape,
    np.size, np.squeeze, np.stack, np.sum, np.swapaxes, np.take_along_axis, np.transpose,
}  # fmt: skip
ASKED: set[Any] = {np.argmax, np.argmin, np.argsort, np.count_nonzero, np.cumsum, np.dot, np.isclose, np.linalg.norm}
NEED_NUMBERS: set[Any] = {np.nonzero, np.flatnonzero, np.unique, np.array_equal}
RULES: dict[Any, F] = {}


def rule_of(func: Any) -> F | None:
    """The rule that answers this function; None if its own text may run."""
    if func in RULES or func in AS_THEY_ARE:
        return RULES.get(func)
    if func in ASKED:
        return functools.partial(ask, func)
    if func in NEED_NUMBERS:
        raise NumbersNeeded(f"np.{func.__name__}")
    raise NotImplementedError(f"there is no rule for np.{func.__name__} of arrays without numbers")


def rule(*functions: Any) -> Callable[[F], F]:
    def enter(function: F) -> F:
        RULES.update(dict.fromkeys(functions, function))
        return function

    return enter


def method(function: F) -> F:
    """Enter it as a method of ShapeArray, too."""
    setattr(ShapeArray, function.__name__, function)
    return function


def _asked_method(name: str) -> F:
    return lambda self, *args, **options: getattr(np, name)(self, *args, **options)


for _name in ("argmax", "argmin", "argsort", "cumsum", "dot"):
    setattr(ShapeArray, _name, _asked_method(_name))


# ---------------------------------------------------------------------------------------- making


@rule(np.empty_like, np.zeros_like, np.ones_like)
def empty_like(
    prototype: Any, dtype: Any = None, order: str = "K", subok: bool = True, shape: Any = None, **_: Any
) -> Array:
    made = like(prototype, dtype, order)
    if shape is None:
        return made
    sides = _shape(shape)
    alike = len(sides) == made.ndim
    return laid_out(sides, made.dtype, made.strides) if alike else ShapeArray(sides, made.dtype)


@rule(np.full_like)
def full_like(a: Any, fill_value: Any, dtype: Any = None, **options: Any) -> Array:
    return empty_like(a, dtype, **options)  # type: ignore[no-any-return]


@rule(np.empty, np.zeros, np.ones)
def empty(shape: Any, dtype: Any = None, order: str = "C", **_: Any) -> Array:
    kind, sides = np.dtype(np.float64 if dtype is None else dtype), _shape(shape)
    return laid_out(sides, kind, range(len(sides))) if order == "F" else ShapeArray(sides, kind)


@rule(np.full)
def full(shape: Any, fill_value: Any, dtype: Any = None, order: str = "C", **_: Any) -> Array:
    kind = np.asarray(fill_value).dtype if dtype is None else dtype
    return empty(shape, kind, order)  # type: ignore[no-any-return]


@rule(np.array, np.asarray, np.asanyarray)
def array(object: Any, dtype: Any = None, **_: Any) -> Array:
    return like(object if isinstance(object, np.ndarray) else np.array(object), dtype)


@rule(np.ascontiguousarray)
def ascontiguousarray(a: Any, dtype: Any = None) -> Array:
    return astype(a, a.dtype if dtype is None else dtype, "C", copy=False)  # type: ignore[no-any-return]


@rule(np.arange)
def arange(*ends: int, dtype: Any = np.intp) -> Array:
    """From 0, or from the first of two ends; numbers that are no integers are no use to anybody here."""
    return ShapeArray((len(range(*ends)),), dtype)


@rule(np.eye, np.tri)
def eye(N: int, M: int | None = None, k: int = 0, dtype: Any = float, **_: Any) -> Array:
    return ShapeArray((N, N if M is None else M), dtype)


@rule(np.copy)
@method
def copy(a: Any, order: str = "C", **_: Any) -> Array:
    return like(a, order=order)


@rule(np.astype)
@method
def astype(
    x: Any, dtype: Any, order: str = "K", casting: Any = "unsafe", subok: bool = True, copy: bool = True, **_: Any
) -> Array:
    kind = np.dtype(dtype)
    if not copy and kind == x.dtype and (order in "KA" or x.flags.c_contiguous):
        return x  # type: ignore[no-any-return]
    made = like(x, kind, order)
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
        if copy is False or "avoid" not in str(error):
            raise
    return np.ndarray.reshape(like(self, order="C"), *shape, order=order)


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
    given = (array, shape), {"subok": True}  # numpy's own text, which keeps the type
    found: Array = np.ndarray.__array_function__(array, np.broadcast_to, (), *given)
    return found


@rule(np.concatenate)
def concatenate(arrays: Any, axis: int | None = 0, out: Any = None, *, dtype: Any = None, casting: Any = None) -> Any:
    given = [a if isinstance(a, np.ndarray) else np.asarray(a) for a in arrays]
    if axis is None:
        given, axis = [a.reshape(-1) for a in given], 0
    (form,) = forms(np.concatenate, given, axis, dtype=dtype)
    assert isinstance(form, Form)
    shape, along = list(form.shape), axis % len(form.shape)
    shape[along] = sum(a.shape[along] for a in given)
    return laid_out(tuple(shape), form.dtype, form.strides) if out is None else out


@rule(np.repeat)
@method
def repeat(a: Any, repeats: Any, axis: int | None = None) -> Array:
    if axis is None:
        a, axis = a.reshape(-1), 0
    if isinstance(repeats, ShapeArray):
        if repeats.size:
            raise NumbersNeeded("how often each element is repeated")
        repeats = np.zeros(repeats.shape, np.intp)
    shape = list(a.shape)
    shape[axis] = int(np.broadcast_to(np.asarray(repeats), (shape[axis],)).sum())
    return ShapeArray(tuple(shape), a.dtype)


@rule(np.tile)
def tile(A: Any, reps: Any) -> Array:
    times = _shape(reps)
    if all(n == 1 for n in times):
        return like(A).reshape((1,) * (len(times) - A.ndim) + A.shape)  # type: ignore[no-any-return]
    ndim = max(A.ndim, len(times))
    sides = (1,) * (ndim - A.ndim) + A.shape
    times = (1,) * (ndim - len(times)) + times
    return ShapeArray(tuple(n * m for n, m in zip(sides, times, strict=True)), A.dtype)


# ------------------------------------------------------------------------- choosing, overwriting


@rule(np.where)
def where(condition: Any, *choices: Any) -> Any:
    if not choices:
        raise NumbersNeeded("the places where a mask is true")
    return ask(np.where, condition, *choices)


@rule(np.copyto)
def copyto(dst: Any, src: Any, casting: Any = "same_kind", where: Any = True) -> None:
    if not isinstance(dst, ShapeArray):
        if isinstance(src, ShapeArray):
            raise TypeError("np.copyto would write an array without numbers into one with numbers")
        raise NumbersNeeded("which elements of an array with numbers are overwritten")
    ask(np.copyto, dst, np.asanyarray(src), casting, where)


@rule(np.take)
@method
def take(a: Any, indices: Any, axis: int | None = None, out: Any = None, mode: Any = "raise") -> Array:
    if not isinstance(a, np.ndarray) or axis is None:
        a, axis = np.asanyarray(a).reshape(-1), 0
    index = np.asanyarray(indices)
    if mode == "raise":
        check_range(index, axis, a.shape[axis])
    return ask(np.take, a, index, axis, mode=mode)  # type: ignore[no-any-return]


@rule(np.searchsorted)
def searchsorted(a: Any, v: Any, side: Any = "left", sorter: Any = None) -> Array:
    return ShapeArray(np.shape(v), np.intp)


@method
def nonzero(self: ShapeArray) -> Any:
    raise NumbersNeeded("the places of elements that are not zero")


@method
def partition(self: ShapeArray, *args: Any, **kwargs: Any) -> None:
    """In place."""


ShapeArray.sort = ShapeArray.fill = ShapeArray.put = partition  # type: ignore[method-assign]


# -------------------------------------------------------------------------------- about operands


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
    return type(like)(*ask(np.linalg.qr, a))


HANDLERS["function"] = rule_of
