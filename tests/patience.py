"""Errors that come after a while: what they say, once the while was long enough for a loaded machine."""

from __future__ import annotations

import re
from collections.abc import Callable

import pytest

LIMITS = (0.5, 5.0, 50.0)  # seconds; the first is enough on a quiet machine


def told_in_time(kind: type[Exception], says: str, act: Callable[[float], object]) -> None:
    """`act(seconds)` raises such an error, and it says so if it had seconds enough to find out."""
    found = []
    for seconds in LIMITS:
        with pytest.raises(kind) as caught:
            act(seconds)
        if re.search(says, str(caught.value)):
            return
        found.append(str(caught.value))
    raise AssertionError(f"none of these says {says!r}: {found}")
