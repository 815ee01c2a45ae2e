"""Methods that make a new tensor of the same dtype and on the same device as the one they belong to."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from minitorch_dist.tensors.core import base
from minitorch_dist.tensors.core.base import T, TensorBase
from minitorch_dist.tensors.names import named
from minitorch_dist.tensors.ops.making import creation, literals
from minitorch_dist.tensors.ops.making.creation import Device, Dtype, filled, made
from minitorch_dist.tensors.ops.making.literals import as_dtype


def _like_self(make: Any, name: str, words: str) -> Any:
    def method(
        self: TensorBase,
        *shape: Any,
        size: Any = None,
        dtype: Dtype = None,
        device: Device = None,
        requires_grad: bool = False,
    ) -> Any:
        kind = self.dtype if dtype is None else dtype
        place = _or_own(self, device)
        return make(*shape, size=size, dtype=kind, device=place, requires_grad=requires_grad)

    return named(method, name, words)


new_zeros = _like_self(creation.zeros, "new_zeros", "All zeros, of the given shape.")
new_ones = _like_self(creation.ones, "new_ones", "All ones, of the given shape.")
new_empty = _like_self(creation.empty, "new_empty", "Uninitialised memory, of the given shape.")


def new_tensor(
    self: T, data: Any, *, dtype: Dtype = None, device: Device = None, requires_grad: bool = False
) -> T:
    """A copy of `data` as a leaf."""
    kind = self.dtype if dtype is None else as_dtype(dtype)
    if isinstance(data, TensorBase):
        data = base.new(data.plain, data.array)  # a part of a tensor is refused
    array = literals.parse(data, kind)
    return made(array, _or_own(self, device), requires_grad)  # type: ignore[no-any-return]


def new_full(
    self: T,
    size: Sequence[int],
    fill_value: Any,
    *,
    dtype: Dtype = None,
    device: Device = None,
    requires_grad: bool = False,
) -> T:
    """All `fill_value`, of the given shape."""
    place = _or_own(self, device)
    array = filled("new_full", size, fill_value, self.dtype if dtype is None else dtype, place)
    return made(array, place, requires_grad)  # type: ignore[no-any-return]


def _or_own(self: TensorBase, device: Device) -> Device:
    return self.storage.device if device is None else device
