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
    np.all, np.amax, np.amin, np.any, np.argwhere, np.atleast_1d, np.atleast_2d, np.atleast_3d, np.average,
    np.clip, np.diff, np.expand_dims, np.fliplr, np.flip, np.flipud, np.hstack, np.iscomplexobj,
    np.isneginf, np.isposinf, np.isrealobj, np.max, np.mean, np.min, np.moveaxis, np.ndim, np.prod, np.ptp,
    np.put_along_axis, np.ravel, np.reshape, np.rollaxis, np.rot90, np.shape, np.size, np.split, np.array_split,
    np.squeeze, np.stack, np.std, np.sum, np.swapaxes, np.take_along_axis, np.transpose, np.var,
    np.vstack, np.matrix_transpose, np.diagonal, np.roll, np.dsplit, np.hsplit, np.vsplit, np.linalg.vecdot,
    np.unstack, np.column_stack, np.dstack, np.append, np.meshgrid, np.angle,
}  # fmt: skip
NEED_NUMBERS: set[Any] = {
    np.nonzero, np.flatnonzero, np.unique, np.histogram, np.histogramdd, np.extract, np.compress,
    np.array_equal, np.allclose, np.array2string, np.array_repr, np.array_str, np.trim_zeros, np.place,
}  # fmt: skip
RULES: dict[Any, F] = {}


def answer(func: Any, args: Any, kwargs: Any) -> Any:
    rule = RULES.get(func)
    if rule is not None:
        return rule(*args, **kwargs)
    if func in AS_THEY_ARE:
        return func._implementation(*args, **kwargs)
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


@rule(np.pad)
def pad(array: Any, pad_width: Any, mode: Any = "constant", **_: Any) -> Array:
    widths = np.broadcast_to(np.asarray(pad_width), (array.ndim, 2)).tolist()
    return ShapeArray(
        tuple(n + a + b for n, (a, b) in zip(array.shape, widths, strict=True)), array.dtype
    )


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


@rule(np.argpartition)
@method
def argpartition(a: Any, kth: Any, axis: int = -1, **_: Any) -> Array:
    return ShapeArray(a.shape, np.intp)


@rule(np.lexsort)
def lexsort(keys: Any, axis: int = -1) -> Array:
    return ShapeArray(np.shape(keys[0]), np.intp)


@rule(np.sort, np.partition)
def sort(a: Any, *args: Any, **kwargs: Any) -> Array:
    return layouts.like(a)


@method
def partition(self: ShapeArray, *args: Any, **kwargs: Any) -> None:
    """In place."""


ShapeArray.sort = partition  # type: ignore[method-assign]
ShapeArray.fill = partition  # type: ignore[method-assign]
ShapeArray.put = partition  # type: ignore[method-assign]


@rule(np.fill_diagonal, np.put, np.putmask)
def write_somewhere(a: Any, *args: Any, **kwargs: Any) -> None:
    if not isinstance(a, ShapeArray):
        raise TypeError("an array without numbers would be written into one with numbers")


@rule(np.searchsorted)
def searchsorted(a: Any, v: Any, side: Any = "left", sorter: Any = None) -> Array:
    return ShapeArray(np.shape(v), np.intp)


@method
def _searchsorted(self: ShapeArray, v: Any, side: Any = "left", sorter: Any = None) -> Array:
    return ShapeArray(np.shape(v), np.intp)


ShapeArray.searchsorted = _searchsorted  # type: ignore[method-assign]


@rule(np.isin)
def isin(element: Any, test_elements: Any, **_: Any) -> Array:
    return ShapeArray(np.shape(element), np.bool_)


@rule(np.isclose)
def isclose(a: Any, b: Any, *args: Any, **kwargs: Any) -> Any:
    return np.less_equal(a, b)


@rule(np.unravel_index)
def unravel_index(indices: Any, shape: Any, order: str = "C") -> Any:
    return tuple(ShapeArray(np.shape(indices), np.intp) for _ in shape)


@rule(np.ravel_multi_index)
def ravel_multi_index(multi_index: Any, dims: Any, *args: Any, **kwargs: Any) -> Array:
    return ShapeArray(np.broadcast_shapes(*map(np.shape, multi_index)), np.intp)


@method
def nonzero(self: ShapeArray) -> Any:
    raise NumbersNeeded("the places of elements that are not zero")


# ------------------------------------------------------------------------------- sums and products


def _scan(ufunc: Any) -> F:
    def scan(a: Any, axis: int | None = None, dtype: Any = None, out: Any = None) -> Any:
        if axis is None:
            a, axis = a.reshape(-1), 0
        return ufunc.accumulate(a, axis, dtype, out)

    return scan


RULES[np.cumsum] = ShapeArray.cumsum = _scan(np.add)  # type: ignore[method-assign]
RULES[np.cumprod] = ShapeArray.cumprod = _scan(np.multiply)  # type: ignore[method-assign]


@rule(np.around, np.round)
def around(a: Any, decimals: int = 0, out: Any = None) -> Any:
    return np.rint(a) if out is None else np.rint(a, out=out)


ShapeArray.round = around  # type: ignore[method-assign]


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
    if b.ndim == 1 or (a.ndim <= 2 and b.ndim <= 2):
        return np.matmul(a, b)
    return np.tensordot(a, b, (-1, -2))


@rule(np.inner)
def inner(a: Any, b: Any) -> Any:
    return np.tensordot(a, b, (-1, -1))


@rule(np.outer)
def outer(a: Any, b: Any, out: Any = None) -> Any:
    return np.multiply(a.reshape(-1)[:, None], b.reshape(-1)[None, :])


@rule(np.tensordot)
def tensordot(a: Any, b: Any, axes: Any = 2) -> Any:
    if isinstance(axes, int):
        axes = tuple(range(a.ndim - axes, a.ndim)), tuple(range(axes))
    left, right = axes_of(axes[0], a.ndim), axes_of(axes[1], b.ndim)
    if len(left) != len(right) or any(
        a.shape[i] != b.shape[j] for i, j in zip(left, right, strict=True)
    ):
        raise ValueError("shape-mismatch for sum")
    rest = [n for i, n in enumerate(a.shape) if i not in left] + [
        n for j, n in enumerate(b.shape) if j not in right
    ]
    return ShapeArray(tuple(rest), (ones(a).reshape(1, 1) @ ones(b).reshape(1, 1)).dtype)


def _as_text(operands: Any) -> tuple[str, list[Any]]:
    """einsum's other form, array, labels, array, labels … result's labels, in letters."""
    letters = [
        "".join("..." if n is Ellipsis else chr(97 + n if n < 26 else 39 + n) for n in labels)
        for labels in operands[1::2]
    ]
    pairs = len(operands) // 2
    text = ",".join(letters[:pairs])
    if len(operands) % 2:
        last = "".join(
            "..." if n is Ellipsis else chr(97 + n if n < 26 else 39 + n) for n in operands[-1]
        )
        return f"{text}->{last}", list(operands[: 2 * pairs : 2])
    return text, list(operands[::2])


@rule(np.einsum)
def einsum(*operands: Any, out: Any = None, optimize: Any = False, **_: Any) -> Any:
    text, *arrays = operands
    if not isinstance(text, str):
        text, arrays = _as_text(operands)
    left, arrow, right = text.replace(" ", "").partition("->")
    terms = left.split(",")
    letters = [c for c in dict.fromkeys(left) if c.isalpha()]
    if not arrow:
        right = ("..." if "..." in left else "") + "".join(
            sorted(c for c in letters if left.count(c) == 1)
        )
    sizes: dict[str, int] = {}
    loops: list[tuple[int, ...]] = [()]
    spread: list[Array] = []
    named: list[str] = []
    for term, x in zip(terms, arrays, strict=True):
        before, dots, after = term.partition("...")
        hidden = x.ndim - len(before) - len(after)
        if hidden < 0 or (hidden and not dots):
            raise ValueError(
                "einstein sum subscripts string does not fit the number of dimensions of an operand"
            )
        loops.append(x.shape[len(before) : len(before) + hidden])
        sides = x.shape[: len(before)] + x.shape[len(before) + hidden :]
        for name, side in zip(before + after, sides, strict=True):
            known = sizes.get(name, 1)
            if 1 not in (known, side) and known != side:
                raise ValueError(
                    f"operands could not be broadcast together: {name} is {known} and {side}"
                )
            sizes[name] = max(known, side) if known != 0 and side != 0 else 0
        spread.append(x)
        named.append(term)
    loop = np.broadcast_shapes(*loops)
    before, dots, after = right.partition("...")
    shape = (*(sizes[c] for c in before), *(loop if dots else ()), *(sizes[c] for c in after))
    kind = np.result_type(*[x.dtype for x in arrays])
    if "..." in text:
        return ShapeArray(shape, kind)
    views = [
        x.window(
            [sizes[c] if c in t else 1 for c in right],
            [x.strides[t.index(c)] if c in t else 0 for c in right],
        )
        if isinstance(x, ShapeArray)
        else np.empty((1,) * len(right))
        for t, x in zip(terms, arrays, strict=True)
    ]
    return layouts.result(shape, kind, views)


@rule(np.eye, np.identity)
def eye(N: int, M: int | None = None, k: int = 0, dtype: Any = float, **_: Any) -> Array:
    return ShapeArray((N, N if M is None else M), dtype)


@rule(np.bincount)
def bincount(x: Any, weights: Any = None, minlength: int = 0) -> Array:
    """How long it is depends on the numbers, unless it is said."""
    if not minlength and np.size(x):
        raise NumbersNeeded("np.bincount")
    return ShapeArray((minlength,), np.intp if weights is None else np.float64)


@rule(np.broadcast_arrays)
def broadcast_arrays(*args: Any, subok: bool = False) -> Any:
    shape = np.broadcast_shapes(*[x.shape for x in args])
    return tuple(np.broadcast_to(x, shape) for x in args)


@rule(np.tri)
def tri(N: int, M: int | None = None, k: int = 0, dtype: Any = float, **_: Any) -> Array:
    return ShapeArray((N, N if M is None else M), dtype)


@rule(np.tril, np.triu)
def triangle(m: Any, k: int = 0) -> Any:
    return np.where(ShapeArray(m.shape[-2:], bool), m, ShapeArray((1,), m.dtype))


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


@rule(np.can_cast)
def can_cast(from_: Any, to: Any, casting: Any = "safe") -> bool:
    return np.can_cast(from_.dtype if isinstance(from_, np.ndarray) else from_, to, casting)


# ------------------------------------------------------------------------------- Fourier transforms


def _transform(name: str) -> F:
    function = getattr(np.fft, name)

    def transform(
        a: Any, n: int | None = None, axis: int = -1, norm: Any = None, out: Any = None
    ) -> Any:
        (along,) = axes_of(axis, a.ndim)
        if n is None:
            n = 2 * (a.shape[along] - 1) if name == "irfft" else a.shape[along]
        one = function(np.ones(1, a.dtype), min(n, 1), norm=norm)  # raises if there is nothing
        side = n // 2 + 1 if name == "rfft" else n
        shape = (*a.shape[:along], side, *a.shape[along + 1 :])
        return layouts.like(a, shape, one.dtype) if out is None else out

    return transform


for _name in ("fft", "ifft", "rfft", "irfft"):
    RULES[getattr(np.fft, _name)] = _transform(_name)


# --------------------------------------------------------------------------------- linear algebra


def square(a: Any) -> Any:
    """The result type of numpy's linear algebra, where the last two axes are equally long."""
    if a.ndim < 2:
        raise np.linalg.LinAlgError(
            f"{a.ndim}-dimensional array given. Array must be at least two-dimensional"
        )
    if a.shape[-1] != a.shape[-2]:
        raise np.linalg.LinAlgError("Last 2 dimensions of the array must be square")
    return np.linalg.inv(np.eye(1, dtype=a.dtype)).dtype


@rule(np.linalg.inv, np.linalg.cholesky)
def inv(a: Any, **_: Any) -> Array:
    return ShapeArray(a.shape, square(a))


@rule(np.linalg.det)
def det(a: Any) -> Array:
    return ShapeArray(a.shape[:-2], square(a))


@rule(np.linalg.slogdet)
def slogdet(a: Any) -> Any:
    kind = square(a)
    like: Any = np.linalg.slogdet(np.eye(1))
    return type(like)(ShapeArray(a.shape[:-2], kind), ShapeArray(a.shape[:-2], kind))


@rule(np.linalg.solve)
def solve(a: Any, b: Any) -> Array:
    kind = square(a)
    if b.ndim == 1:
        return ShapeArray((*a.shape[:-2], a.shape[-1]), kind)
    loop = np.broadcast_shapes(a.shape[:-2], b.shape[:-2])
    if a.shape[-1] != b.shape[-2]:
        raise ValueError(f"solve: {a.shape} does not fit {b.shape}")
    return ShapeArray((*loop, *b.shape[-2:]), kind)


@rule(np.linalg.eigh)
def eigh(a: Any, UPLO: str = "L") -> Any:
    kind = square(a)
    like: Any = np.linalg.eigh(np.eye(1))
    return type(like)(ShapeArray(a.shape[:-1], kind), ShapeArray(a.shape, kind))


@rule(np.linalg.eig)
def eig(a: Any) -> Any:
    kind = np.result_type(square(a), np.complex64)
    like: Any = np.linalg.eig(np.eye(1))
    return type(like)(ShapeArray(a.shape[:-1], kind), ShapeArray(a.shape, kind))


@rule(np.linalg.eigvalsh)
def eigvalsh(a: Any, UPLO: str = "L") -> Array:
    return ShapeArray(a.shape[:-1], square(a))


@rule(np.linalg.qr)
def qr(a: Any, mode: str = "reduced") -> Any:
    *loop, m, n = a.shape
    k, kind = min(m, n), np.linalg.qr(ones(a)[..., :1, :1].reshape(1, 1))[0].dtype
    if mode == "r":
        return ShapeArray((*loop, k, n), kind)
    rows = m if mode == "complete" else k
    like: Any = np.linalg.qr(np.eye(1))
    return type(like)(ShapeArray((*loop, m, rows), kind), ShapeArray((*loop, rows, n), kind))


@rule(np.linalg.svd)
def svd(
    a: Any, full_matrices: bool = True, compute_uv: bool = True, hermitian: bool = False
) -> Any:
    *loop, m, n = a.shape
    k, kind = min(m, n), np.linalg.svd(ones(a).reshape(1, 1))[0].dtype
    values = ShapeArray((*loop, k), kind)
    if not compute_uv:
        return values
    like: Any = np.linalg.svd(np.eye(1))
    left = ShapeArray((*loop, m, m if full_matrices else k), kind)
    right = ShapeArray((*loop, n if full_matrices else k, n), kind)
    return type(like)(left, values, right)


@rule(np.linalg.norm)
def norm(x: Any, ord: Any = None, axis: Any = None, keepdims: bool = False) -> Array:
    return reduced(np.sqrt(x), axis, keepdims, np.sqrt(ones(x)).dtype)


HANDLERS["function"] = answer
