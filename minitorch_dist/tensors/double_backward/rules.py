"""The answers of a recording array to numpy: the same step, as an operation on tensors."""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from operator import methodcaller
from typing import Any

import numpy as np

from minitorch_dist.tensors import dtypes
from minitorch_dist.tensors.double_backward.recording_array import (
    ANSWERS,
    NotDifferentiable,
    RecordingArray,
    constant,
    like_of,
    recording,
    tensor_of,
)
from minitorch_dist.tensors.ops.linear_algebra import solving
from minitorch_dist.tensors.ops.shapes import joining
from minitorch_dist.tensors.ops.statistics import differences

Options = dict[str, Any]

UFUNCS: dict[Any, Callable[..., Any]] = {
    np.add: operator.add,
    np.subtract: operator.sub,
    np.multiply: operator.mul,
    np.divide: operator.truediv,
    np.power: operator.pow,
    np.matmul: operator.matmul,
    np.negative: operator.neg,
    np.reciprocal: lambda t: 1 / t,
    np.square: lambda t: t * t,
    np.maximum: lambda a, b: _extreme(a, b, "maximum", "min"),
    np.minimum: lambda a, b: _extreme(a, b, "minimum", "max"),
    np.conjugate: methodcaller("conj"),
    np.absolute: methodcaller("abs"),
    np.logaddexp: lambda a, b: _extreme(a, b, "maximum", "min") + (-abs(a - b)).exp().log1p(),
    np.arcsin: methodcaller("asin"),
    np.arccos: methodcaller("acos"),
    np.arctan: methodcaller("atan"),
}
UFUNCS |= {
    function: methodcaller(function.__name__)
    for function in (
        np.exp, np.expm1, np.log, np.log1p, np.sqrt, np.sin, np.cos, np.tan, np.tanh, np.sinh, np.cosh,
    )
}  # fmt: skip

STEPS = {
    np.greater, np.greater_equal, np.less, np.less_equal, np.equal, np.not_equal, np.isnan, np.isinf,
    np.isfinite, np.sign, np.signbit, np.floor, np.ceil, np.trunc, np.rint, np.floor_divide, np.logical_and,
    np.logical_or, np.logical_not,
}  # fmt: skip
"""Steps: constant almost everywhere, so nothing is recorded."""


def _extreme(a: Any, b: Any, name: str, bound: str) -> Any:
    if isinstance(b, (int, float)):
        return a.clamp(**{bound: b})
    return b.clamp(**{bound: a}) if isinstance(a, (int, float)) else getattr(a, name)(b)


def made(operation: Callable[..., Any], inputs: Sequence[Any]) -> Any:
    """The array of `operation`, called with the tensors of `inputs` and recorded."""
    like = like_of(inputs)
    return recording(operation(*[tensor_of(each, like) for each in inputs]))


def numbers(values: Any) -> Any:
    """The values, without their histories."""
    if isinstance(values, RecordingArray):
        values.refresh()
        return np.asarray(values)
    return type(values)(map(numbers, values)) if isinstance(values, (tuple, list)) else values


def ufunc(function: np.ufunc, method: str, inputs: Sequence[Any], options: Options) -> Any:
    if method == "reduce" and function is np.add:
        return _added(*inputs, **options)
    if method == "at" and function is np.add:
        return add_at(*inputs)
    if method != "__call__" or set(options) - {"dtype", "casting"}:
        raise NotDifferentiable(f"numpy's {function.__name__}.{method}")
    if function in STEPS:
        return function(*numbers(inputs), **options)
    if function not in UFUNCS:
        raise NotDifferentiable(f"numpy's {function.__name__}")
    return made(UFUNCS[function], inputs)


def _added(x: Any, axis: Any = 0, dtype: Any = None, keepdims: bool = False) -> Any:
    kind = x.dtype if dtype is None else np.dtype(dtype)
    over = tuple(range(x.ndim)) if axis is None else axis
    if over == ():
        return x.copy()
    return made(lambda t: t.sum(over, keepdim=bool(keepdims)), (x,)).astype(kind, copy=False)


def add_at(target: Any, where: Any, values: Any) -> None:
    """`target[where] += values`, where a place that is named twice gets both values."""
    if not isinstance(target, RecordingArray):
        raise NotDifferentiable("a gradient that is added to a kept array")
    places = np.arange(target.size).reshape(target.shape)[where]

    def add(t: Any, v: Any) -> Any:
        flat, index = t.reshape(-1), constant(places.reshape(-1), t.storage.device)
        return flat.index_add(0, index, v.expand(places.shape).reshape(-1)).reshape(t.shape)

    target[...] = made(add, (target, values))


FUNCTIONS: dict[Any, Callable[..., Any]] = {}


def rule(*functions: Any) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    def known(answer: Callable[..., Any]) -> Callable[..., Any]:
        FUNCTIONS.update(dict.fromkeys(functions, answer))
        return answer

    return known


def function(func: Any, args: Sequence[Any], kwargs: Options) -> Any:
    if func not in FUNCTIONS:
        raise NotDifferentiable(f"numpy's {getattr(func, '__name__', func)}")
    return FUNCTIONS[func](*args, **kwargs)


@rule(np.shape)
def shape(x: Any) -> Any:
    return x.shape


@rule(np.ndim)
def ndim(x: Any) -> Any:
    return x.ndim


@rule(np.where)
def where(mask: Any, x: Any, y: Any) -> Any:
    like = like_of((x, y))
    chosen, kind = constant(np.asarray(mask), like.storage.device), like.array.dtype.type
    both = [each if isinstance(each, np.ndarray) else np.asarray(each, kind) for each in (x, y)]
    return made(lambda a, b: chosen.where(a, b) if a is chosen else a.where(chosen, b), both)


@rule(np.sum)
def sum(x: Any, axis: Any = None, dtype: Any = None, keepdims: bool = False) -> Any:
    return _added(x, axis, dtype, keepdims)


@rule(np.concatenate)
def concatenate(arrays: Any, axis: int = 0) -> Any:
    return made(lambda *t: joining.cat(t, axis), arrays)


@rule(np.stack)
def stack(arrays: Any, axis: int = 0) -> Any:
    return made(lambda *t: joining.stack(t, axis), arrays)


@rule(np.flip)
def flip(x: Any, axis: Any = None) -> Any:
    over = range(x.ndim) if axis is None else (axis,) if isinstance(axis, int) else axis
    return made(lambda t: t.flip(tuple(over)), (x,))


@rule(np.roll)
def roll(x: Any, shift: Any, axis: Any = None) -> Any:
    return made(lambda t: t.roll(shift, axis), (x,))


@rule(np.broadcast_to)
def broadcast_to(x: Any, shape: Any, subok: bool = False) -> Any:
    return made(lambda t: t.expand(shape if isinstance(shape, tuple) else (shape,)), (x,))


@rule(np.expand_dims)
def expand_dims(x: Any, axis: Any) -> Any:
    if isinstance(axis, tuple):
        for place in sorted(axis):  # they count from the front
            x = expand_dims(x, place)
        return x
    return x.window(lambda t: t.unsqueeze(axis), lambda a: np.expand_dims(a, axis))


@rule(np.squeeze)
def squeeze(x: Any, axis: Any = None) -> Any:
    return x.squeeze(axis)


@rule(np.moveaxis)
def moveaxis(x: Any, source: Any, destination: Any) -> Any:
    def moved(t: Any) -> Any:
        few = isinstance(source, int)
        return t.movedim(source, destination) if few else t.movedim(tuple(source), tuple(destination))  # fmt: skip

    return x.window(moved, lambda a: np.moveaxis(a, source, destination))


@rule(np.clip)
def clip(x: Any, low: Any, high: Any) -> Any:
    return made(lambda t: t.clamp(float(low), float(high)), (x,))


@rule(np.full_like)
def full_like(x: Any, value: Any, dtype: Any = None, shape: Any = None) -> Any:
    sides = x.shape if shape is None else shape
    return recording(constant(np.full(sides, value, dtype or x.dtype)))


@rule(np.zeros, np.empty)
def zeros(shape: Any, dtype: Any = float, order: Any = "C") -> Any:
    return recording(constant(np.zeros(shape, dtype)))


@rule(np.eye)
def eye(*sides: Any, **options: Any) -> Any:
    return np.eye(*sides, **options)


@rule(np.arange)
def arange(*ends: Any, dtype: Any = None) -> Any:
    """Places, which have no gradient."""
    return np.arange(*ends, dtype=dtype)


@rule(np.zeros_like, np.empty_like)
def zeros_like(x: Any, dtype: Any = None, shape: Any = None) -> Any:
    return full_like(x, 0, dtype, shape)


@rule(np.ones_like)
def ones_like(x: Any, dtype: Any = None, shape: Any = None) -> Any:
    return full_like(x, 1, dtype, shape)


@rule(np.diff)
def diff(x: Any, n: int = 1, axis: int = -1) -> Any:
    return made(lambda t: differences.diff(t, n, axis), (x,))


@rule(np.bincount)
def bincount(places: Any, weights: Any, minlength: int = 0) -> Any:
    sums = zeros((minlength,), weights.dtype)
    add_at(sums, places, weights)
    return sums


@rule(np.rot90)
def rot90(x: Any, k: int = 1, axes: Any = (0, 1)) -> Any:
    """Turns are made of a reversal and a transposition."""
    a, b = axes

    def turned(t: Any) -> Any:
        if k % 4 == 1:
            return t.flip(b).transpose(a, b)
        if k % 4 == 3:
            return t.flip(a).transpose(a, b)
        return t.flip(a).flip(b) if k % 4 == 2 else t

    return made(turned, (x,))


@rule(np.tril)
def tril(x: Any, k: int = 0) -> Any:
    return _kept(x, _lower(x, k))


@rule(np.triu)
def triu(x: Any, k: int = 0) -> Any:
    return _kept(x, ~_lower(x, k - 1))


def _lower(x: Any, k: int) -> Any:
    """True up to the k-th diagonal."""
    rows, columns = x.shape[-2:]
    return np.tri(rows, columns, k, bool)


def _kept(x: Any, where: Any) -> Any:
    return made(lambda t: t.masked_fill(constant(~where, t.storage.device), 0), (x,))


@rule(np.linalg.inv)
def inv(x: Any) -> Any:
    return made(solving.inv, (x,))


@rule(np.linalg.solve)
def solve(a: Any, b: Any) -> Any:
    return made(solving.solve, (a, b))


@rule(np.copyto)
def copyto(array: Any, value: Any, casting: Any = "same_kind", where: Any = True) -> None:
    array[...] = np.where(np.broadcast_to(where, array.shape), value, array)


@rule(np.take_along_axis)
def take_along_axis(x: Any, indices: Any, axis: int) -> Any:
    return made(lambda t: t.gather(axis, constant(indices, t.storage.device)), (x,))


@rule(np.put_along_axis)
def put_along_axis(x: Any, indices: Any, values: Any, axis: int) -> None:
    x[...] = made(lambda t, v: t.scatter(axis, constant(indices, t.storage.device), v), (x, values))


ANSWERS.update(
    ufunc=ufunc, function=function, made=made, dtype=lambda kind: dtypes.FROM_NUMPY[kind]
)
