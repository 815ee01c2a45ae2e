"""Reading and writing where a mask of bools is true. Masks broadcast."""

from __future__ import annotations

from typing import Any

import numpy as np

from minitorch_dist.tensors.autograd.overwriting import Change, both
from minitorch_dist.tensors.core.base import Array, T, TensorBase
from minitorch_dist.tensors.ops.shapes.broadcasting import expand
from minitorch_dist.tensors.promotion import common_shape, one_element


def _filled(input: T, mask: TensorBase, value: Any) -> Change:
    """`value` (a number or a 0-dim tensor) wherever `mask` is true."""
    x, where = input.array, mask.array
    if where.dtype.kind != "b":
        raise RuntimeError(f"masked_fill_ only supports boolean masks, but got a mask of {mask.dtype}")
    if common_shape(x, where) != x.shape:
        raise RuntimeError(f"a mask of shape {list(where.shape)} is larger than a tensor of shape {list(x.shape)}")
    element, source = one_element(value, input.dtype, "masked_fill_")

    def write(array: Array) -> None:
        np.copyto(array, element, where=where)

    kind = None if source is None else source.array.dtype

    def hand_on(grad: Array) -> Array:
        return np.asanyarray(np.where(where, grad, 0).sum(dtype=grad.dtype)).astype(kind)  # type: ignore[no-any-return]

    name = "MaskedFillBackward0" if source is None else "MaskedFillBackward1"
    return Change(name, write, lambda g: np.where(where, np.zeros((), g.dtype, like=g), g), source, hand_on, (mask,))


_filled.__name__ = "masked_fill"
_fill_alike, masked_fill_ = both(_filled)


def masked_fill(input: T, mask: TensorBase, value: Any) -> T:
    """`value` (a number or a 0-dim tensor) wherever `mask` is true; both broadcast."""
    shape = common_shape(input.array, mask.array)
    return _fill_alike(input if shape == input.array.shape else expand(input, shape), mask, value)
