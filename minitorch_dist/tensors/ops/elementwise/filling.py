"""Overwriting all elements with one value."""

from __future__ import annotations

import numpy as np

from minitorch_dist.tensors.autograd.overwriting import Change, overwrite
from minitorch_dist.tensors.core.base import Array, Number, T, TensorBase
from minitorch_dist.tensors.core.views import check_writable
from minitorch_dist.tensors.promotion import as_element, converted, is_number, not_a_tensor


def fill_(input: T, value: T | Number) -> T:
    """Set every element to `value`, a number or a 0-dim tensor."""
    check_writable(input)
    if not isinstance(value, TensorBase):
        if not is_number(value):
            raise not_a_tensor(value, "value")
        return _filled(input, "FillBackward0", as_element(value, input.dtype))
    if value.array.ndim:
        raise RuntimeError(f"fill_ takes a number or a tensor of no dimension, not of {value.array.ndim}")
    return _filled(input, "FillBackward1", value.array, value)


def zero_(input: T) -> T:
    """Set every element to 0."""
    return _filled(input, "ZeroBackward0", np.zeros(()))


def _filled(input: T, name: str, number: Array, source: TensorBase | None = None) -> T:
    element = converted(number, input.dtype)

    def write(x: Array) -> None:
        x[...] = element

    return overwrite(input, Change(name, write, np.zeros_like, source, np.sum, told=()))
