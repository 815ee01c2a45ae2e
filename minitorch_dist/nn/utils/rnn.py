"""Sequences of different lengths in one tensor, padded to a rectangle.

a x .
b y .
c . .
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from minitorch_dist.inventory import not_offered
from minitorch_dist.tensors.autograd.joint import record_joint
from minitorch_dist.tensors.core.base import Array
from minitorch_dist.tensors.tensor import Tensor


def pad_sequence(
    sequences: Iterable[Tensor], batch_first: bool = False, padding_value: float = 0.0, padding_side: str = "right"
) -> Tensor:
    """Tensors (length, *) of different lengths as one (longest, batch, *), or (batch, longest, *)."""
    found = tuple(sequences)
    if not found:
        raise RuntimeError("Expected a non-empty list of Tensors")
    if padding_side not in ("left", "right"):
        raise RuntimeError(f"Expected padding_side to be one of left or right, but got {padding_side}.")
    first = found[0].array
    longest = max(len(s.array) for s in found)
    out = np.full((len(found), longest, *first.shape[1:]), padding_value, first.dtype, like=first)
    windows = []
    for row, sequence in zip(out, found, strict=True):
        size = len(sequence.array)
        window = slice(0, size) if padding_side == "right" else slice(longest - size, longest)
        row[window] = sequence.array
        windows.append(window)
    if not batch_first:
        out = out.swapaxes(0, 1)

    def cut(grad: Array) -> list[Array]:
        rows = grad if batch_first else grad.swapaxes(0, 1)
        return [row[window] for row, window in zip(rows, windows, strict=True)]

    return record_joint(out, "PadSequenceBackward0", found, cut)


not_offered.guard(globals())
