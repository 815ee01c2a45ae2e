"""Methods that make a new tensor of the same dtype and on the same device as the one they belong to."""

from __future__ import annotations

from typing import Any

from minitorch_dist.tensors.core.base import TensorBase
from minitorch_dist.tensors.names import named
from minitorch_dist.tensors.ops.making import creation
from minitorch_dist.tensors.ops.making.creation import Device, Dtype


def _like_self(make: Any, name: str, words: str) -> Any:
    def method(self: TensorBase, *args: Any, dtype: Dtype = None, device: Device = None, **options: Any) -> Any:
        kind = self.dtype if dtype is None else dtype
        place = self.storage.device if device is None else device
        return make(*args, dtype=kind, device=place, **options)

    return named(method, name, words)


new_zeros = _like_self(creation.zeros, "new_zeros", "All zeros, of the given shape.")
new_ones = _like_self(creation.ones, "new_ones", "All ones, of the given shape.")
new_empty = _like_self(creation.empty, "new_empty", "Uninitialised memory, of the given shape.")
new_full = _like_self(creation.full, "new_full", "All of one value, of the given shape.")
new_tensor = _like_self(creation.tensor, "new_tensor", "A copy of the data as a leaf.")
