"""The bytes under a tensor, with torch's methods: `tensor.untyped_storage()`."""

from __future__ import annotations

import weakref
from typing import Any

import numpy as np

from minitorch_dist.tensors import devices
from minitorch_dist.tensors.core import observers
from minitorch_dist.tensors.core.base import Array, Storage

_given_up: dict[int, Any] = {}
"""Memory that `resize_(0)` has freed, by the id of its owner."""


def root(array: Array) -> Array:
    """The array that owns the memory `array` looks at."""
    base: Any = array.base
    while base is not None:
        if isinstance(base, np.ndarray):
            array = base
        elif not isinstance(getattr(base, "base", None), np.ndarray):
            break  # memory that numpy does not own: a buffer of somebody else
        base = base.base  # (an as_strided view hangs on a dummy, which holds the array)
    return array


class UntypedStorage:
    """A storage of the core, under torch's names. Two are equal if their bytes are the same."""

    __slots__ = ("storage",)

    def __init__(self, storage: Storage) -> None:
        self.storage = storage

    def __eq__(self, other: object) -> bool:
        return isinstance(other, UntypedStorage) and other.storage is self.storage

    def __hash__(self) -> int:
        return hash(self.storage)

    @property
    def device(self) -> devices.device:
        return self.storage.device

    def cuda(self, device: devices.device | str | int | None = None) -> UntypedStorage:
        """A copy on a simulated device, as functions for `load(…, map_location=…)` make it."""
        target = devices.resolve("cuda" if device is None else device)
        return UntypedStorage(Storage(self.storage.array.copy(), target))

    def nbytes(self) -> int:
        owner = root(self.storage.array)
        return 0 if id(owner) in _given_up else int(owner.nbytes)

    size = nbytes

    def resize_(self, size: int) -> UntypedStorage:
        """Give the bytes up (0), or take them back.

        All tensors on these bytes are concerned, as when FSDP frees a parameter that it has
        gathered. Its device counts them as freed; their content is lost, and reads as nan.
        """
        owner = root(self.storage.array)
        key = id(owner)
        if size == 0 and key not in _given_up:
            noted = observers.memory.given_up(owner, self.device)
            _given_up[key] = weakref.ref(owner, lambda _: _given_up.pop(key, None)), noted
            if owner.flags.writeable and owner.dtype.kind not in "iub":
                owner.fill(np.nan)
        elif size not in (0, owner.nbytes):
            words = f"cannot resize a storage of {owner.nbytes} bytes to {size}"
            raise RuntimeError(f"{words}: 0 gives them up, and {owner.nbytes} takes them back")
        elif size and key in _given_up:
            if self.device is not devices.CPU:
                observers.memory.taken_back(owner, self.device, _given_up[key][1])
            del _given_up[key]
        return self

    def data_ptr(self) -> int:
        """The address of the memory; 0 where there is none."""
        if self.device is devices.META:
            return 0
        return int(root(self.storage.array).ctypes.data)
