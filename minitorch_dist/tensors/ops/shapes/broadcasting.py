"""Dimensions repeated without copying, so that shapes meet."""

from __future__ import annotations

from typing import Any

import numpy as np

from minitorch_dist.tensors.core.base import T, TensorBase
from minitorch_dist.tensors.core.operations import sum_to
from minitorch_dist.tensors.core.views import view_of
from minitorch_dist.tensors.ops.shapes.reshaping import sizes
from minitorch_dist.tensors.size import Size


def expand(input: T, *shape: Any, size: Any = None) -> T:
    """Dimensions of length 1 repeated, and new ones put in front, without copying."""
    x, before = input.array, input.array.shape
    target = sizes(shape, "expand", size)
    full, extra = target, len(target) - x.ndim
    if -1 in target:
        full = tuple([before[i - extra] if n == -1 and i >= extra else n for i, n in enumerate(target)])
    try:
        out = np.broadcast_to(x, full)
    except ValueError:
        raise RuntimeError(f"a tensor of shape {list(before)} does not expand to {list(target)}") from None
    if out.size == x.size:  # nothing is repeated, so it may be written to
        out = x.reshape(full)
    return view_of(input, out, "ExpandBackward0", lambda g: sum_to(g, before))


def expand_as(input: T, other: TensorBase) -> T:
    """`expand(other.shape)`"""
    return expand(input, other.shape if other.is_part else other.array.shape)  # type: ignore[attr-defined]


def broadcast_shapes(*shapes: Any) -> Size:
    """The shape that all of these broadcast to."""
    try:
        return Size(np.broadcast_shapes(*shapes))
    except ValueError:
        raise RuntimeError(f"there is no shape that all of these broadcast to: {', '.join(map(str, shapes))}") from None
