"""The bytes under a tensor: who owns them, how often they were written, where they live.

All views of a tensor share one `Storage`. Its `version` counts in-place writes: an operation that
keeps a tensor for its backward notes the version, and the engine compares (see `graph`). Its
`device` is a label; only simulated devices are accounted for (see `ledger`).
"""

from __future__ import annotations

import weakref
from typing import Any

import numpy as np

from minitorch_dist.tensors import devices, ledger
from minitorch_dist.tensors.ledger import root as root

_given_up: dict[
    int, Any
] = {}  # memory that `resize_(0)` has freed, by the id of its owner; and what it was


class Storage:
    __slots__ = ("array", "device", "version")

    def __init__(self, array: np.ndarray[Any, Any], device: devices.device = devices.CPU) -> None:
        self.array = array
        self.device = device
        self.version = 0
        if device is not devices.CPU:
            ledger.track(array, device)

    def alias(self) -> Storage:
        """The same bytes with a version counter of its own: what `Tensor.data` promises."""
        twin = Storage.__new__(Storage)
        twin.array, twin.device, twin.version = self.array, self.device, 0
        return twin

    def to(self, device: devices.device | str | int) -> Storage:
        """A copy on another device; itself if it is there already."""
        target = devices.resolve(device)
        return self if target is self.device else Storage(self.array.copy(), target)

    def cuda(self, device: devices.device | str | int | None = None) -> Storage:
        return self.to("cuda" if device is None else device)

    def cpu(self) -> Storage:
        return self.to(devices.CPU)

    def nbytes(self) -> int:
        owner = root(self.array)
        return 0 if id(owner) in _given_up else int(owner.nbytes)

    size = nbytes

    def resize_(self, size: int) -> Storage:
        """Give the bytes up (0), or take them back.

        All tensors on these bytes are concerned, as when FSDP frees a parameter that it has
        gathered. The ledger counts them as freed; their content is lost, and reads as nan.
        """
        owner = root(self.array)
        key = id(owner)
        if size == 0 and key not in _given_up:
            category = ledger.forget(owner, self.device)
            _given_up[key] = weakref.ref(owner, lambda _: _given_up.pop(key, None)), category
            if owner.flags.writeable and owner.dtype.kind not in "iub":
                owner.fill(np.nan)
        elif size > owner.nbytes:
            raise RuntimeError(
                f"cannot resize a storage of {owner.nbytes} bytes to {size}: other tensors may look "
                "at it. Make a new tensor, or use Tensor.resize_."
            )
        elif size and key in _given_up:
            if self.device is not devices.CPU:
                ledger.track(owner, self.device)
                ledger.retag(owner, self.device, _given_up[key][1])
            del _given_up[key]
        return self

    def data_ptr(self) -> int:
        return int(root(self.array).ctypes.data)

    def __repr__(self) -> str:
        return f"<Storage {self.nbytes()} bytes on {self.device}, version {self.version}>"
