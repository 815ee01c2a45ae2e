"""Numbers of a prime field in float64 arrays: any model computes exactly, for any number of layers and steps.

    sums, differences, products, products of matrices      modulo P, as they are
    x / y                                                  x times the inverse of y; x / 0 is 0
    exp, sqrt, tanh, erf, log, pow with a fraction …       a cubic polynomial each, with coefficients by its name
    comparisons, max, relu, argmax                         by the residue between -P/2 and P/2
    a number such as 0.5, 1/3 or 1e-3                      its fraction modulo P

So a network is another function than with real numbers. Yet it reads and adds the same things in the same places, and
each sum is the same in any order. P ranks equal one rank with `==`, unless one of them computes something else.

A `FieldArray` is a numpy array that holds whole numbers from 0 to P - 1. P is small enough that products of two
halves can be added up a million times below 2⁵³. Two different results are equal by chance once in four million times.

One thing does not hold: exp(a + b) is not exp(a) · exp(b), so attention that is computed in
blocks with a running maximum (flash, ring) differs; and x > 0 says nothing about x + y > 0.
"""

from __future__ import annotations

import functools
import math
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from fractions import Fraction
from typing import Any, Final

import numpy as np

from minitorch_dist.tensors import dtypes
from minitorch_dist.tensors.shape_arrays import mode

P: Final = 4_194_301  # the largest prime below 2²²
HALF: Final = 1 << 11
LARGEST: Final = 4096  # denominator of a number that is taken for a fraction
ALIKE: Final = frozenset(("positive", "floor", "ceil", "rint", "trunc", "conjugate", "copyto"))
ORDERS: Final = frozenset(
    ("greater", "greater_equal", "less", "less_equal", "maximum", "minimum", "sign", "fmax", "fmin")
)
PLAIN: Final = frozenset(
    ("equal", "not_equal", "isfinite", "isnan", "isinf", "signbit", "logical_not", "logical_and", "logical_or")
)
BILINEAR: Final = frozenset(("matmul", "vecdot", "dot", "einsum", "tensordot", "inner", "outer", "vdot"))

Array = np.ndarray[Any, Any]


class FieldArray(np.ndarray[Any, Any]):
    """A float64 array of residues. Its operations are those of the field."""

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *inputs: Any, out: Any = None, **kwargs: Any) -> Any:
        if method == "at":
            return _at(ufunc, *inputs)
        if method == "__call__":
            found = _called(ufunc, inputs, kwargs)
        else:
            found = _folded(ufunc, method, inputs, kwargs)
        return _put(found, out, kwargs.get("where", True))

    def __array_function__(self, function: Any, types: Any, args: Any, kwargs: Any) -> Any:
        name = function.__name__
        if name in BILINEAR:
            return _wrapped(_bilinear(function, args, kwargs))
        if name in ("mean", "var"):
            return getattr(self, name)(*args[1:], **kwargs)
        if not _has_field(args) and not _has_field(kwargs):  # a new array, by numpy's argument `like`
            made = function(*args, **kwargs)
            return of(np.zeros_like(made) if name == "empty" else made) if made.dtype.kind == "f" else made
        into = kwargs.pop("out", None)
        found = function(*_bare(args), **_bare(kwargs))
        return _put(_of_result(found), None if into is None else (into,), True)

    def __setitem__(self, index: Any, values: Any) -> None:
        bare = self.view(np.ndarray)
        bare[_bare(index)] = _operand(values)

    def dot(self, other: Any, out: Any = None) -> Any:
        return np.dot(self, other)

    def var(self, axis: Any = None, ddof: int = 0, keepdims: bool = False) -> Any:  # type: ignore[override]
        distance: Any = self - self.mean(axis, keepdims=True)
        total: Any = (distance * distance).sum(axis, keepdims=keepdims)
        return total / (self.size // max(np.size(total), 1) - ddof)


def of(values: Any) -> FieldArray:
    """The residues of these numbers. Whole numbers and fractions stay what they are, modulo P."""
    values = np.asarray(values)
    if isinstance(values, FieldArray):
        return values
    return _residues(values).view(FieldArray)


@contextmanager
def new_tensors() -> Iterator[None]:
    """New floating tensors of this thread hold residues, and are float64, which takes them all."""
    before = dtypes.get_default_dtype()
    dtypes.set_default_dtype(dtypes.float64)
    try:
        with mode.like(of(np.zeros(()))):
            yield
    finally:
        dtypes.set_default_dtype(before)


# ------------------------------------------------------------------------- from and to real numbers


def _residues(values: Array) -> Array:
    values = values.view(np.ndarray)
    if values.dtype.kind in "iub":
        return np.asarray(np.remainder(values.astype(np.int64), P).astype(np.float64))
    values = values.astype(np.float64)
    whole = np.isfinite(values) & (np.abs(values) < 2.0**53) & (values == np.rint(values))
    found = np.asarray(np.remainder(np.where(whole, values, 0), P))
    if not whole.all():
        odd, back = np.unique(values[~whole], return_inverse=True)
        found[~whole] = np.array([residue(float(value)) for value in odd])[back.reshape(-1)]
    return np.asarray(found)


@functools.lru_cache(maxsize=1 << 16)
def residue(value: float) -> int:
    """0.5 is the inverse of 2, and 1/3 is that of 3. Infinity has a place, too."""
    if not math.isfinite(value):
        return 7 if value != value else 1_234_567 if value > 0 else P - 1_234_567
    exact = Fraction(value)
    near = exact.limit_denominator(LARGEST)
    chosen = near if float(near) == value else exact
    return chosen.numerator % P * pow(chosen.denominator, P - 2, P) % P


def signed(values: Array) -> Array:
    """Between -P/2 and P/2."""
    return np.where(values > P // 2, values - P, values)


def _bare(value: Any) -> Any:
    """Residues as an ordinary array, also within lists."""
    if isinstance(value, FieldArray):
        return value.view(np.ndarray)
    if isinstance(value, list | tuple):
        return type(value)([_bare(each) for each in value])
    if isinstance(value, dict):
        return {name: _bare(each) for name, each in value.items()}
    return value


def _has_field(value: Any) -> bool:
    if isinstance(value, dict):
        return any(map(_has_field, value.values()))
    return isinstance(value, FieldArray) or (isinstance(value, list | tuple) and any(map(_has_field, value)))


def _operand(value: Any) -> Any:
    """An operand of the field. Real numbers become residues."""
    if isinstance(value, FieldArray):
        return value.view(np.ndarray).astype(np.float64, copy=False)
    return _residues(np.asarray(value))


def _wrapped(found: Any) -> Any:
    return np.asarray(np.remainder(found, P)).view(FieldArray)


def _of_result(found: Any) -> Any:
    if isinstance(found, list | tuple):
        return type(found)([_of_result(each) for each in found])
    if isinstance(found, np.ndarray | np.generic) and found.dtype.kind == "f":
        return _wrapped(found)
    return found


def _put(found: Any, out: Any, where: Any) -> Any:
    if out is None or out[0] is None:
        return found
    bare = found.view(np.ndarray) if isinstance(found, FieldArray) else found
    np.copyto(out[0].view(np.ndarray), bare, casting="unsafe", where=where)
    return out[0]


# ----------------------------------------------------------------------------------- operations


def _called(ufunc: np.ufunc, inputs: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    if any(isinstance(each, FieldArray) and each.dtype.kind in "iu" for each in inputs):
        bits = ufunc(*(each.view(np.ndarray) if isinstance(each, FieldArray) else each for each in inputs))
        return np.asarray(bits).view(FieldArray)  # whole numbers are bits of elements (`masks.only`), or indices
    name, given = ufunc.__name__, [_operand(each) for each in inputs]
    if name in PLAIN:
        return ufunc(*given)
    if name in ORDERS:
        found = ufunc(*map(signed, given))
        return found if found.dtype.kind == "b" else _wrapped(found)
    if name in ("add", "subtract", "multiply", "negative", "square"):
        return _wrapped(ufunc(*given))
    if name in ("absolute", "fabs"):
        return _wrapped(np.abs(signed(given[0])))
    if name in BILINEAR:
        return _wrapped(_bilinear(ufunc, inputs, kwargs))
    if name in ("divide", "true_divide"):
        return _wrapped(given[0] * power(given[1], P - 2))
    if name == "reciprocal":
        return power(given[0], P - 2).view(FieldArray)
    if name in ("power", "float_power") and np.ndim(inputs[1]) == 0 and float(inputs[1]) == int(inputs[1]):
        exponent = int(inputs[1])
        return power(given[0], exponent if exponent >= 0 else P - 1 + exponent).view(FieldArray)
    if name in ALIKE:
        return _wrapped(given[0])
    return _polynomial(name, given).view(FieldArray)


def _folded(ufunc: np.ufunc, method: str, inputs: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Sums, products and largest elements along axes."""
    x, rest = _operand(inputs[0]), inputs[1:]
    options = {name: each for name, each in kwargs.items() if name != "dtype"}
    if ufunc.__name__ == "add":
        return _wrapped(getattr(ufunc, method)(x, *rest, **options))
    if ufunc.__name__ in ORDERS:
        return _wrapped(getattr(ufunc, method)(signed(x), *rest, **options))
    if ufunc.__name__ == "multiply" and method == "reduce":
        axis = kwargs.get("axis", rest[0] if rest else 0)
        product = functools.reduce(lambda one, other: np.remainder(one * other, P), np.moveaxis(x, axis, 0))
        return _wrapped(np.expand_dims(product, axis) if kwargs.get("keepdims") else product)
    return getattr(ufunc, method)(x, *rest, **options)


def _at(ufunc: np.ufunc, into: Any, index: Any, values: Any) -> None:
    bare = into.view(np.ndarray)
    ufunc.at(bare, index, _operand(values))
    bare[...] = np.remainder(bare, P)


def _bilinear(function: Callable[..., Any], args: Any, kwargs: Any) -> Any:
    """A sum of products. One factor is cut in two, so that no sum comes near 2⁵³."""
    words = [each for each in args if isinstance(each, str)]
    first, second, *rest = [each for each in args if not isinstance(each, str)]
    a, b = _operand(first), _operand(second)
    high, low = np.floor_divide(a, HALF), np.remainder(a, HALF)
    options = {name: _bare(each) for name, each in kwargs.items() if name not in ("out", "optimize")}
    upper, lower = (function(*words, part, b, *rest, **options) for part in (high, low))
    return np.remainder(upper, P) * HALF + lower


def power(x: Array, exponent: int) -> Array:
    """x to the power of a whole number, by squaring."""
    found, square = np.ones_like(x), x
    while exponent:
        if exponent & 1:
            found = np.remainder(found * square, P)
        square = np.remainder(square * square, P)
        exponent >>= 1
    return found


def _polynomial(name: str, given: list[Array]) -> Array:
    """Any other function: a polynomial of each operand with coefficients that follow from its name."""
    total: Any = 0
    for place, x in enumerate(given):
        seeds = [zlib.crc32(f"{name} {place} {n}".encode()) % P for n in range(4)]
        for seed in seeds:
            total = np.remainder(total * x + seed, P)
    return np.asarray(total)
