"""What the modules that know one family of values need of the writer and of the reader."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple, Protocol

from minitorch_dist.tensors.devices import device


class Writing(Protocol):
    out: bytearray
    buffers: list[memoryview]
    blamed: set[int]  # objects that were looked through for what cannot be sent
    device_name: Callable[[device], str]  # what to call a tensor's device at the receiver

    def value(self, value: Any) -> None:
        """Write any value, with its kind."""

    def text(self, text: str) -> None:
        """Write a text without its kind."""

    def octets(self, view: memoryview) -> None:
        """Write bytes that the reader knows the number of: inside, or as an outside buffer."""

    def remember(self, value: Any) -> None:
        """From now on this value is SAME; to be called before its parts are written."""

    def mark(self) -> tuple[int, ...]:
        """A point to which `back_to` returns as if nothing had been written since."""

    def back_to(self, mark: tuple[int, ...]) -> None: ...


class Reading(Protocol):
    def value(self) -> Any: ...
    def text(self) -> str: ...
    def byte(self) -> int: ...
    def count(self) -> int: ...
    def integer(self) -> int: ...
    def take(self, nbytes: int) -> memoryview:
        """The next so many bytes."""

    def octets(self, nbytes: int) -> memoryview:
        """What `Writing.octets` wrote: exactly so many bytes, which belong to the caller."""

    def place(self) -> int:
        """Reserve the next number for SAME; `fill` says what has it."""

    def fill(self, place: int, value: Any) -> None: ...


class Other(NamedTuple):
    """A type of the floors above, which says itself how it travels."""

    write: Callable[[Writing, Any], None]
    read: Callable[[Reading], Any]


others: dict[type[Any], int] = {}  # the number of each
by_number: dict[int, Other] = {}


def let_travel(kind: type[Any], number: int, other: Other) -> None:
    """Teach the codec a type. The number is part of what goes over the wire."""
    others[kind] = number
    by_number[number] = other
