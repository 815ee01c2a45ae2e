"""Freed memory stays with the process, for the next step to take.

A training step makes the same arrays as the one before it. The GNU allocator gives memory at the end of its
heap back to the system whenever a few megabytes of it are free. That is after every step. The next step gets it
again page by page, each with a fault and zeroed. On a ConvNet's step (batch 32, of
17 ms) that was 3,500 faults and 2.7 ms, on a small MLP's (of 2.5 ms) 870 and 0.7 ms. So `keep` asks the
allocator to hold on to as much as a step of such models needs.

Arrays above 32 MB are mapped and unmapped one by one as before. Nothing is changed where one of the
allocator's own variables is set (MALLOC_TRIM_THRESHOLD_, MALLOC_MMAP_THRESHOLD_, GLIBC_TUNABLES), or where the
C library is another one.
"""

from __future__ import annotations

import ctypes
import os
import sys
from typing import Final

KEPT: Final = 256 << 20  # bytes that may be free at the end of the heap
LARGE: Final = 32 << 20  # bytes from which an array is mapped by itself: the most glibc allows
VARIABLES: Final = ("MALLOC_TRIM_THRESHOLD_", "MALLOC_MMAP_THRESHOLD_", "GLIBC_TUNABLES")
_TRIM_THRESHOLD, _MMAP_THRESHOLD = -1, -3  # names of options, from <malloc.h>


def keep() -> bool:
    """Hold on to freed memory from now on. Whether the allocator's settings were changed."""
    if not sys.platform.startswith("linux") or any(name in os.environ for name in VARIABLES):
        return False
    library = ctypes.CDLL(None)
    if not hasattr(library, "gnu_get_libc_version"):
        return False
    return bool(library.mallopt(_TRIM_THRESHOLD, KEPT) and library.mallopt(_MMAP_THRESHOLD, LARGE))
