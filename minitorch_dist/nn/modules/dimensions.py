"""Settings that may differ per dimension: `kernel_size=3` or `kernel_size=(3, 5)`."""

from __future__ import annotations

from typing import Any


def repeated(value: Any, times: int) -> tuple[Any, ...]:
    """One number for every dimension, or one per dimension as given."""
    return tuple(value) if isinstance(value, (tuple, list)) else (value,) * times
