"""How many threads numpy's linear algebra may use: OpenBLAS is asked directly, where it is found.

Wheels of numpy bring an OpenBLAS of their own. With another BLAS the numbers are kept and nothing
is changed; then set OMP_NUM_THREADS before the start.
"""

from __future__ import annotations

import ctypes
import functools
import os
from pathlib import Path
from typing import Any

import numpy as np

_asked = 0  # the number that was asked for, where nothing can be changed


@functools.cache
def _openblas() -> tuple[Any, Any] | None:
    """Its functions that read and set the number of threads."""
    package = Path(np.__file__).parent
    folders = (package.parent / "numpy.libs", package / ".dylibs")
    for path in (p for folder in folders for p in sorted(folder.glob("*openblas*"))):
        library = ctypes.CDLL(str(path))
        for name in ("scipy_openblas_{}_num_threads64_", "openblas_{}_num_threads64_", "openblas_{}_num_threads"):
            if hasattr(library, name.format("set")):
                return getattr(library, name.format("get")), getattr(library, name.format("set"))
    return None


def get_num_threads() -> int:
    found = _openblas()
    if found:
        return int(found[0]())
    return _asked or int(os.environ.get("OMP_NUM_THREADS") or os.cpu_count() or 1)


def set_num_threads(num: int) -> None:
    global _asked
    if not isinstance(num, int) or isinstance(num, bool) or num < 1:
        raise RuntimeError(f"set_num_threads expects a positive integer, got {num!r}")
    _asked = num
    found = _openblas()
    if found:
        found[1](num)
