"""Results that have several parts, each with a name: `x.max(0).values`."""

from __future__ import annotations

import collections
from typing import Any, Final


def _show(self: Any) -> str:
    parts = ",\n".join(f"{name}={value!r}" for name, value in zip(self._fields, self, strict=True))
    return f"torch.return_types.{type(self).__name__}(\n{parts})"


_tuple_of: Final[Any] = collections.namedtuple  # whose fields mypy does not have to know


def _kind(name: str, parts: str) -> Any:
    """A class of tuples whose parts have these names."""
    return type(name, (_tuple_of(name, parts, module=__name__),), {"__slots__": (), "__repr__": _show})


max = _kind("max", "values indices")
min = _kind("min", "values indices")
sort = _kind("sort", "values indices")
topk = _kind("topk", "values indices")
