"""`nn.functional.pad`: a frame of one value around a tensor."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from minitorch_dist.tensors.core.base import T
from minitorch_dist.tensors.core.graph import record
from minitorch_dist.tensors.ops.accumulation import zeros_around
from minitorch_dist.tensors.ops.indexing.indexing import number


def pad(input: T, pad: Sequence[int], mode: str = "constant", value: float | None = None) -> T:
    """`input` with `pad = (left, right, top, bottom, …)` more entries, last dimension first.

    Negative numbers cut entries off.
    """
    x = input.array
    widths = [int(n) for n in pad]
    if mode != "constant":
        raise NotImplementedError(f"padding mode {mode!r} is not offered: PyTorch has it")
    if len(widths) % 2:
        raise RuntimeError("Padding length must be divisible by 2")
    if len(widths) > 2 * x.ndim:
        raise RuntimeError(f"{len(widths)} widths of padding are too many for an input of {x.ndim} dimensions")
    pairs = list(zip(widths[::2], widths[1::2], strict=True))[::-1]
    first = x.ndim - len(pairs)
    shape = list(x.shape)
    there: list[slice] = [slice(None)] * first  # where the old elements lie in the result
    here: list[slice] = [slice(None)] * first  # and which of them
    for place, (before, after) in enumerate(pairs, first):
        side = x.shape[place]
        shape[place] = side + before + after
        if shape[place] < 0 or side + min(before, 0) + min(after, 0) < 0:
            raise RuntimeError(f"pad ({before}, {after}) cuts more than dimension {place} of size {side} has")
        there.append(slice(max(before, 0), shape[place] - max(after, 0)))
        here.append(slice(max(-before, 0), side - max(-after, 0)))
    to: Any = (*there, ...)
    source: Any = (*here, ...)
    out = np.empty(shape, x.dtype, like=x)
    out[...] = number(input, value or 0).array
    out[to] = x[source]
    widen = zeros_around(x, source)
    return record(out, "ConstantPadNdBackward0", (input, lambda g: widen(g[to])))
