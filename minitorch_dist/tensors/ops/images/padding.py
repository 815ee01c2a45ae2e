"""`nn.functional.pad`: a frame around a tensor, of one value or made from the tensor itself.

constant   0 0 | a b c | 0 0
reflect    c b | a b c | b a
replicate  a a | a b c | c c
circular   b c | a b c | a b
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from minitorch_dist.tensors.core.base import Array, T
from minitorch_dist.tensors.core.graph import record
from minitorch_dist.tensors.ops.accumulation import add_at
from minitorch_dist.tensors.ops.indexing.indexing import number

_NUMPY = {"reflect": "reflect", "replicate": "edge", "circular": "wrap"}
_NODES = {"reflect": "ReflectionPad", "replicate": "ReplicationPad", "circular": "CircularPad"}


def pad(input: T, pad: Sequence[int], mode: str = "constant", value: float | None = None) -> T:
    """`input` with `pad = (left, right, top, bottom, …)` more entries, last dimension first.

    Negative numbers cut entries off.
    """
    x = input.array
    widths = [int(n) for n in pad]
    if mode != "constant" and mode not in _NUMPY:
        raise NotImplementedError(f"Unrecognised padding mode {mode}")
    if len(widths) % 2:
        raise RuntimeError("Padding length must be divisible by 2")
    if len(widths) > 2 * x.ndim:
        raise RuntimeError(
            "Padding length should be less than or equal to two times the input dimension but got "
            f"padding length {len(widths)} and input of dimension {x.ndim}"
        )
    pairs = list(zip(widths[::2], widths[1::2], strict=True))[::-1]
    if mode == "constant":
        return _constant(input, pairs, value)
    if value not in (None, 0):
        raise RuntimeError(f'Padding mode "{mode}" doesn\'t take in value argument')
    if not 1 <= len(pairs) <= 3 or x.ndim - len(pairs) not in (1, 2):
        raise NotImplementedError(
            f"Padding size {len(widths)} is not supported for {x.ndim}D input tensor. Only the "
            "last 1, 2 or 3 dimensions are padded, with one or two others in front of them."
        )
    return _from_itself(input, pairs, mode)


def _constant(input: T, pairs: list[tuple[int, int]], value: float | None) -> T:
    x = input.array
    first = x.ndim - len(pairs)
    shape = list(x.shape)
    there: list[slice] = [slice(None)] * first  # where the old elements lie in the result
    here: list[slice] = [slice(None)] * first  # and which of them
    for place, (before, after) in enumerate(pairs, first):
        side = x.shape[place]
        shape[place] = side + before + after
        if shape[place] < 0 or side + min(before, 0) + min(after, 0) < 0:
            raise RuntimeError(
                f"pad ({before}, {after}) cuts more than dimension {place} of size {side} has"
            )
        there.append(slice(max(before, 0), shape[place] - max(after, 0)))
        here.append(slice(max(-before, 0), side - max(-after, 0)))
    to, source = tuple(there), tuple(here)
    out = np.empty(shape, x.dtype, like=x)
    out[...] = number(input, value or 0).array
    out[to] = x[source]
    before_shape, dtype = x.shape, x.dtype

    def cut(grad: Array) -> Array:
        whole = np.zeros(before_shape, dtype, like=grad)
        whole[source] = grad[to]
        return whole

    return record(out, "ConstantPadNdBackward0", (input, cut))


def _from_itself(input: T, pairs: list[tuple[int, int]], mode: str) -> T:
    x = input.array
    first = x.ndim - len(pairs)
    sources = []  # along each padded dimension: the entry that stands at each place
    for place, (before, after) in enumerate(pairs, first):
        side = x.shape[place]
        most = side - (mode == "reflect") if mode != "replicate" else max(before, after)
        if max(before, after) > most or not side:
            raise RuntimeError(
                f"{mode} padding ({before}, {after}) is larger than dimension {place} of input "
                f"{list(x.shape)} allows"
            )
        line = np.arange(side)[max(-before, 0) : side - max(-after, 0)]
        kind: Any = _NUMPY[mode]
        sources.append(np.pad(line, (max(before, 0), max(after, 0)), kind))
    out, sides = x, x.shape
    for place, source in enumerate(sources, first):
        out = out.take(source, place)

    def gather(grad: Array) -> Array:
        for place, source in enumerate(sources, first):
            shape = (*grad.shape[:place], sides[place], *grad.shape[place + 1 :])
            whole = np.zeros(shape, grad.dtype, like=grad)
            add_at(whole, (slice(None),) * place + (source,), grad)
            grad = whole
        return grad

    return record(out, f"{_NODES[mode]}{len(pairs)}DBackward0", (input, gather))
