"""The label that says where a tensor lives: `cpu`, or an accelerator, `cuda:0 … cuda:k`.

A device is a label on a CPU array. There is one object per device, so labels are compared with `is`. Here
there are only `cpu` and `meta`; `tensors.devices` attaches the other names.
"""

from __future__ import annotations

from collections.abc import Callable
from contextvars import ContextVar
from typing import Any, Final


class device:
    """A device type and an index: `device("cuda:1")`, `device("cuda", 1)`, `device(1)`.

    As a context manager it is where new tensors go: `with device("cuda"): zeros(3)`.
    """

    __slots__ = ("index", "type")
    _known: dict[Any, device] = {}

    type: str
    index: int | None

    def __new__(cls, type: str | int | device, index: int | None = None) -> device:
        if index is None and type.__class__ is str:
            found = cls._known.get(type)
            if found is not None:
                return found
        elif isinstance(type, device) and index is None:
            return type
        key = parse(type, index)
        found = cls._known.get(key)
        if found is None:
            made = super().__new__(cls)
            object.__setattr__(made, "type", key[0])
            object.__setattr__(made, "index", key[1])
            found = cls._known.setdefault(key, made)  # another thread may have been faster
            cls._known[str(found)] = found
        return found

    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError(f"attribute '{name}' of 'device' objects is not writable")

    def __repr__(self) -> str:
        index = "" if self.index is None else f", index={self.index}"
        return f"device(type={self.type!r}{index})"

    def __str__(self) -> str:
        return self.type if self.index is None else f"{self.type}:{self.index}"

    def __reduce__(self) -> tuple[Any, ...]:
        return (device, (str(self),))

    def __enter__(self) -> device:
        defaults.set((*defaults.get(), self))
        return self

    def __exit__(self, *exc: object) -> None:
        defaults.set(defaults.get()[:-1])


def _known_here(type: object, index: object) -> tuple[str, int | None]:
    if type not in ("cpu", "meta") or index is not None:
        raise RuntimeError(f"there is no device {type!r}: the core alone knows 'cpu' and 'meta'")
    return str(type), None


parse: Callable[[object, object], tuple[str, int | None]] = _known_here
"""A device's type and index from what the user gave."""

CPU: Final = device("cpu")
META: Final = device("meta")

# The CPU, and the `with` blocks around us.
defaults: ContextVar[tuple[device, ...]] = ContextVar("default device", default=(CPU,))
