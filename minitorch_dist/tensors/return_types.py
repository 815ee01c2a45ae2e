"""Results that have several parts, each with a name: `x.max(0).values`."""

from __future__ import annotations

from typing import Any, NamedTuple


def _show(self: Any) -> str:
    parts = ",\n".join(f"{name}={value!r}" for name, value in zip(self._fields, self, strict=True))
    return f"torch.return_types.{type(self).__name__}(\n{parts})"


class max(NamedTuple):
    values: Any
    indices: Any


class min(NamedTuple):
    values: Any
    indices: Any


class aminmax(NamedTuple):
    min: Any
    max: Any


class median(NamedTuple):
    values: Any
    indices: Any


class nanmedian(NamedTuple):
    values: Any
    indices: Any


class mode(NamedTuple):
    values: Any
    indices: Any


for _kind in (max, min, aminmax, median, nanmedian, mode):
    _kind.__repr__ = _show  # type: ignore[method-assign]
