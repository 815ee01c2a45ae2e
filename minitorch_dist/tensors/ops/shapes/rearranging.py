"""The elements in other places: turned, mirrored, repeated, cut to triangles."""

from __future__ import annotations

from typing import Any

import numpy as np

from minitorch_dist.tensors.core.base import Array, T
from minitorch_dist.tensors.core.graph import record
from minitorch_dist.tensors.core.operations import axes, axis, total
from minitorch_dist.tensors.ops.elementwise.copying import clone, dense
from minitorch_dist.tensors.ops.shapes.reshaping import sizes


def _ints(value: Any) -> tuple[int, ...]:
    return (value,) if isinstance(value, int) else tuple(value)


def roll(input: T, shifts: Any, dims: Any = None) -> T:
    """Every element moved on by `shifts` along `dims`. Elements that leave at the end come back at the front."""
    x, by = input.array, _ints(shifts)
    along = () if dims is None else _ints(dims)
    if len(by) != max(len(along), 1):
        raise RuntimeError(
            f"shifts and dimensions must align. shifts: {len(by)}, dims:{len(along)}"
        )
    if not x.size:
        return clone(input)
    places = tuple([axis(d, x.ndim) for d in along]) or None
    step: Any = by if places else by[0]
    back = tuple([-n for n in by]) if places else -by[0]
    return record(
        np.roll(x, step, places),
        "RollBackward0",
        (input, lambda g: np.roll(g, back, places)),
    )


def flip(input: T, *along: Any, dims: Any = None) -> T:
    """Backwards along `dims`. Always a copy."""
    x = input.array
    if dims is not None:
        along = (dims,)
    given = _ints(along[0]) if len(along) == 1 else along
    over = axes(given, x.ndim) if given else ()
    return record(dense(np.flip(x, over)), "FlipBackward0", (input, lambda g: np.flip(g, over)))


def reverse(input: T) -> T:
    """`reversed(x)`: backwards along the first dimension."""
    return flip(input, 0) if input.array.ndim else input


# ------------------------------------------------------------------------------------ repetitions


def repeat(input: T, *times: Any, repeats: Any = None) -> T:
    """The whole tensor repeated along each dimension; more numbers make more dimensions in front."""
    x = input.array
    given = () if times == ((),) else sizes(times, "repeat", repeats)
    if len(given) < x.ndim or min(given, default=0) < 0:
        raise RuntimeError(
            f"repeat() takes a number of repetitions for each dimension of {list(x.shape)}, but got {list(given)}"
        )
    full = (1,) * (len(given) - x.ndim) + x.shape
    split = tuple([n for pair in zip(given, full, strict=True) for n in pair])
    over, before = tuple(range(0, len(split), 2)), x.shape

    def fold(grad: Array) -> Array:
        sums = np.asanyarray(total(grad.reshape(split), over, False))
        return sums.astype(grad.dtype, copy=False).reshape(before)  # type: ignore[no-any-return]

    out = np.tile(x, given) if given else x.copy()
    return record(out, "RepeatBackward0", (input, fold))
