"""Memory that is given back and taken again, at the same address.

A unit's whole parameters exist for moments only. The graph keeps views of them for backward, so the
address must stay; the memory behind it need not. The kernel takes the pages of a private mapping
back on request (MADV_DONTNEED), and gives fresh ones when they are next touched. So memory that the
ledger counts as freed on a simulated device is freed on the machine, too.
"""

from __future__ import annotations

import mmap
from typing import Any, Final

import numpy as np

from minitorch_dist.tensors import devices, ledger
from minitorch_dist.tensors.shape_arrays import mode

Array = np.ndarray[Any, Any]

LARGE: Final = 1 << 18  # bytes; below it a system call costs more than it frees
_FREE: Final = getattr(mmap, "MADV_DONTNEED", None)
_HUGE: Final = getattr(mmap, "MADV_HUGEPAGE", None)  # 512 times fewer page faults


class Pages:
    """An array of `count` elements, without memory until `take()`."""

    def __init__(self, count: int, dtype: np.dtype[Any], device: devices.device, category: str) -> None:
        self.device, self.category, self.is_held = device, category, False
        nbytes = count * dtype.itemsize
        self._map = None
        like = mode.template(device)
        if nbytes >= LARGE and _FREE is not None and like is None:
            self._map = mmap.mmap(-1, nbytes, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
        if self._map is None:
            self._owner: Array = np.empty(nbytes, np.uint8, like=like)
        else:
            if _HUGE is not None:
                self._map.madvise(_HUGE)
            self._owner = np.frombuffer(self._map, np.uint8)
        self.array: Array = self._owner.view(dtype)
        if like is not None and type(self.array) is np.ndarray:
            self.array = self.array.view(type(like))

    def take(self, zeros: bool = False) -> Array:
        """The array with memory behind it. Its contents are undefined, unless `zeros` are asked for."""
        if not self.is_held:
            if self.device is not devices.CPU and self._owner.nbytes:
                ledger.track(self._owner, self.device, self.category)
            self.is_held = True
            if zeros and self._map is None:  # the kernel's fresh pages are zero already
                self._owner.fill(0)
        return self.array

    def give_back(self) -> None:
        """Free the memory. A read after that gives nothing that makes sense."""
        if self.is_held:
            self.is_held = False
            if self.device is not devices.CPU:
                ledger.forget(self._owner, self.device)
            if self._map is not None and _FREE is not None:
                self._map.madvise(_FREE)
