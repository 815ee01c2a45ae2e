"""Methods that make a new tensor of the same dtype and on the same device as the one they belong to."""

from __future__ import annotations

from typing import Any

import numpy as np

from minitorch_dist.tensors.core.base import TensorBase
from minitorch_dist.tensors.names import named
from minitorch_dist.tensors.ops.making.new_arrays import Device, Dtype, copied, filled, made, maker


def _like_self(make: Any, name: str, words: str) -> Any:
    def method(self: TensorBase, *args: Any, dtype: Dtype = None, device: Device = None, **options: Any) -> Any:
        kind = self.dtype if dtype is None else dtype
        place = self.storage.device if device is None else device
        return make(*args, dtype=kind, device=place, **options)

    return named(method, name, words)


def _full(size: Any, fill_value: Any, *, dtype: Dtype, device: Device, requires_grad: bool = False) -> Any:
    return made(filled(size, fill_value, dtype, device), device, requires_grad)


new_zeros = _like_self(maker(np.zeros, "new_zeros"), "new_zeros", "All zeros, of the given shape.")
new_ones = _like_self(maker(np.ones, "new_ones"), "new_ones", "All ones, of the given shape.")
new_empty = _like_self(maker(np.empty, "new_empty"), "new_empty", "Uninitialised memory, of the given shape.")
new_full = _like_self(_full, "new_full", "All of one value, of the given shape.")
new_tensor = _like_self(copied, "new_tensor", "A copy of the data as a leaf.")
