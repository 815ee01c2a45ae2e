"""Answers of `np.add` and its kin, and of their reductions.

The shape follows numpy's rules. The element type, and the error for a wrong one, come from the function itself:
it is called with arrays of one element each. A program asks the same of equal shapes again and again, so answers are
remembered.
"""

from __future__ import annotations

import functools
import operator
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from minitorch_dist.tensors.core.without_warnings import without_warnings
from minitorch_dist.tensors.shape_arrays import layouts
from minitorch_dist.tensors.shape_arrays.array import HANDLERS, ShapeArray

Shape = tuple[int, ...]
Options = dict[str, Any]


def answer(ufunc: np.ufunc, method: str, inputs: Sequence[Any], options: Options) -> Any:
    if method not in METHODS:
        raise NotImplementedError(
            f"there is no rule for np.{ufunc.__name__}.{method} of arrays without numbers"
        )
    return METHODS[method](ufunc, inputs, options)


def _call(ufunc: np.ufunc, inputs: Sequence[Any], options: Options) -> Any:
    out = options.pop("out", None)
    forms = None if options else _forms(inputs)
    found = _computed(ufunc, inputs, options) if forms is None else _remembered(ufunc, forms)
    if out is not None:
        shapes, types = [each.shape for each in found], [each.dtype for each in found]
        return _into(out, shapes, types, options.get("casting", "same_kind"))
    made = tuple(scalar(ShapeArray(*each)) for each in found)
    return made if ufunc.nout > 1 else made[0]


class Form(NamedTuple):
    """All that an answer depends on, of an array. Whether an axis runs backwards does not matter."""

    shape: Shape
    dtype: np.dtype[Any]
    strides: Shape


def _form(x: Any) -> Form:
    strides = x.strides
    return Form(x.shape, x.dtype, strides if min(strides, default=0) >= 0 else tuple(map(abs, strides)))  # fmt: skip


def _forms(inputs: Sequence[Any]) -> tuple[Any, ...] | None:
    """All that decides the answer for these inputs; None if some of them cannot be compared."""
    forms: list[Any] = []
    for x in inputs:
        if isinstance(x, np.ndarray):
            forms.append(_form(x))
        elif isinstance(x, (int, float, np.number)):
            forms.append((type(x), x))
        else:
            return None
    return tuple(forms)


@functools.lru_cache(1 << 14)
def _remembered(ufunc: np.ufunc, forms: tuple[Any, ...]) -> tuple[Form, ...]:
    inputs = [ShapeArray(*form) if isinstance(form, Form) else form[1] for form in forms]
    return _computed(ufunc, inputs, {})


def _computed(ufunc: np.ufunc, inputs: Sequence[Any], options: Options) -> tuple[Form, ...]:
    """The results of a ufunc."""
    where = options.pop("where", True)
    shapes: Sequence[Shape]
    if ufunc.signature is not None:
        shapes = _core_shapes(ufunc, inputs, options)
        lay: Callable[..., ShapeArray] = functools.partial(_rows, ufunc)
    else:
        shapes = [np.broadcast_shapes(*map(np.shape, inputs), np.shape(where))] * ufunc.nout
        lay = layouts.result
    types = _types(ufunc, inputs, options)
    made = [lay(shape, kind, inputs) for shape, kind in zip(shapes, types, strict=True)]
    return tuple(map(_form, made))


def _into(out: Any, shapes: Sequence[Shape], types: Sequence[Any], casting: Any) -> Any:
    """The arrays that were given for the results, if the results fit into them."""
    given = out if isinstance(out, tuple) else (out,)
    for array, shape, kind in zip(given, shapes, types, strict=True):
        if array is None:
            continue
        if np.broadcast_shapes(array.shape, shape) != array.shape:
            raise ValueError(
                f"non-broadcastable output operand with shape {array.shape} doesn't match the broadcast "
                f"shape {shape}"
            )
        if not np.can_cast(kind, array.dtype, casting):
            np.add(np.ones(1, kind), 0, out=np.ones(1, array.dtype), casting=casting)  # raises
    found = tuple(a if isinstance(a, ShapeArray) else ShapeArray(a.shape, a.dtype) for a in given)
    return found if len(found) > 1 else found[0]


def _types(ufunc: np.ufunc, inputs: Sequence[Any], options: Options) -> tuple[np.dtype[Any], ...]:
    shape = (1, 1) if ufunc.signature is not None else (1,)
    ones = [np.ones(shape, x.dtype) if isinstance(x, np.ndarray) else x for x in inputs]
    kept = {n: v for n, v in options.items() if n in ("dtype", "casting", "subok", "signature")}
    out = without_warnings(ufunc, *ones, **kept)
    return tuple(o.dtype for o in (out if isinstance(out, tuple) else (out,)))


def _core_shapes(ufunc: np.ufunc, inputs: Sequence[Any], options: Options) -> list[Shape]:
    """Of a function of whole rows, such as matmul: `(n?,k),(k,m?)->(n?,m?)`."""
    assert ufunc.signature is not None
    if set(options) & {"axis", "axes", "keepdims"}:
        raise NotImplementedError(
            f"{ufunc.__name__} with {', '.join(options)}, of arrays without numbers"
        )
    left, right = ufunc.signature.split("->")
    sizes: dict[str, int] = {}
    absent: set[str] = set()
    loops: list[Shape] = []
    for x, names in zip(inputs, _names(left), strict=True):
        shape = np.shape(x)
        while len(names) > len(shape) and any(n.endswith("?") for n in names):
            drop = next(n for n in names if n.endswith("?"))
            absent.add(drop[:-1])
            names = [n for n in names if n != drop]
        if len(names) > len(shape):
            raise ValueError(
                f"{ufunc.__name__}: Input operand does not have enough dimensions (has {len(shape)}, gufunc core "
                f"with signature {ufunc.signature} requires {len(names)})"
            )
        loops.append(shape[: len(shape) - len(names)])
        for name, size in zip(names, shape[len(shape) - len(names) :], strict=True):
            if sizes.setdefault(name.rstrip("?"), size) != size:
                raise ValueError(
                    f"{ufunc.__name__}: Input operand has a mismatch in its core dimension {name}, with gufunc "
                    f"signature {ufunc.signature} (size {size} is different from {sizes[name.rstrip('?')]})"
                )
    loop = np.broadcast_shapes(*loops)
    return [
        (*loop, *(sizes[n.rstrip("?")] for n in names if n.rstrip("?") not in absent))
        for names in _names(right)
    ]


def _rows(ufunc: np.ufunc, shape: Shape, dtype: Any, inputs: Sequence[Any]) -> ShapeArray:
    """A new array whose last axes lie as they stand, and the others as those of the inputs do."""
    assert ufunc.signature is not None
    ends = [len(names) for names in _names(ufunc.signature.split("->")[0])]
    loop = max([x.ndim - n for x, n in zip(inputs, ends, strict=True)] + [0])
    if loop < 2:
        return ShapeArray(shape, dtype)
    core = len(shape) - loop
    steps = [
        (0,) * (loop - max(0, x.ndim - n))
        + tuple(
            0 if k == 1 else abs(s) for k, s in zip(x.shape[: x.ndim - n], x.strides, strict=False)
        )
        for x, n in zip(inputs, ends, strict=True)
    ]
    order = [*layouts.axis_order(loop, steps), *range(loop, loop + core)]
    return layouts.packed(shape, np.dtype(dtype), order)


def _names(part: str) -> list[list[str]]:
    return [[n for n in group.split(",") if n] for group in part.strip("()").split("),(")]


# ------------------------------------------------------------------------------- along an axis


def axes_of(axis: Any, ndim: int) -> Shape:
    """The axes that are meant, counted from 0."""
    if axis is None:
        return tuple(range(ndim))
    given = axis if isinstance(axis, (tuple, list)) else (axis,)
    return np.lib.array_utils.normalize_axis_tuple(given, ndim)


def _reduced_axes(axis: Any, ndim: int) -> Shape:
    """The same; numpy reduces a number along its axis 0, too."""
    return () if not ndim and axis in (0, -1) else axes_of(axis, ndim)


def reduced(x: Any, axis: Any, keepdims: bool, dtype: Any) -> ShapeArray:
    """A new array in which these axes have become one element each, or are gone."""
    over = _reduced_axes(axis, x.ndim)
    whole = layouts.result(tuple(1 if a in over else n for a, n in enumerate(x.shape)), dtype, [x])
    if keepdims:
        return whole
    return whole[tuple(0 if a in over else slice(None) for a in range(x.ndim)) or ...]  # type: ignore[no-any-return]


def _reduce(ufunc: np.ufunc, inputs: Sequence[Any], options: Options) -> Any:
    names = ("axis", "dtype", "out", "keepdims", "initial", "where")
    options = dict(zip(names, inputs[1:], strict=False)) | options
    x, axis, out = inputs[0], options.get("axis", 0), options.get("out")
    if not isinstance(x, np.ndarray):
        x = np.asarray(x)
    starts_empty = options.get("initial", np._NoValue) in (None, np._NoValue)
    keepdims = bool(operator.index(options.get("keepdims", False)))
    axis = tuple(axis) if isinstance(axis, list) else axis
    made = _reduction(ufunc, _form(x), axis, keepdims, options.get("dtype"), starts_empty)
    if out is None or (type(out) is tuple and out[0] is None):
        return scalar(ShapeArray(*made))
    return _into(out, [made.shape], [made.dtype], "same_kind")


@functools.lru_cache(1 << 14)
def _reduction(
    ufunc: np.ufunc, form: Form, axis: Any, keepdims: bool, dtype: Any, starts_empty: bool
) -> Form:
    """The result of `ufunc.reduce`."""
    over = _reduced_axes(axis, len(form.shape))
    if ufunc.identity is None and starts_empty and any(form.shape[a] == 0 for a in over):
        raise ValueError(
            f"zero-size array to reduction operation {ufunc.__name__} which has no identity"
        )
    one = np.ones((1,) * max(1, len(form.shape)), form.dtype)
    kind = without_warnings(ufunc.reduce, one, dtype=dtype).dtype
    return _form(reduced(ShapeArray(*form), axis, keepdims, kind))


def scalar(x: ShapeArray) -> ShapeArray:
    """A result; without axes it is what numpy returns as a number."""
    if not x.ndim:
        x.is_scalar = True
    return x


def _accumulate(ufunc: np.ufunc, inputs: Sequence[Any], options: Options) -> Any:
    options = dict(zip(("axis", "dtype", "out"), inputs[1:], strict=False)) | options
    x, out = inputs[0], options.get("out")
    axes_of(options.get("axis", 0), x.ndim)
    kind = without_warnings(
        ufunc.accumulate, np.ones((1,) * x.ndim, x.dtype), dtype=options.get("dtype")
    ).dtype
    if out is None or (type(out) is tuple and out[0] is None):
        return layouts.result(x.shape, kind, [x])
    return _into(out, [x.shape], [kind], "same_kind")


def _at(ufunc: np.ufunc, inputs: Sequence[Any], options: Options) -> None:
    x, key, *values = inputs
    if not isinstance(x, ShapeArray):
        raise TypeError(
            f"np.{ufunc.__name__}.at would write an array without numbers into one with numbers"
        )
    x[key] = values[0] if values else 0


METHODS: dict[str, Callable[..., Any]] = {
    "__call__": _call,
    "reduce": _reduce,
    "accumulate": _accumulate,
    "at": _at,
}
HANDLERS["ufunc"] = answer
