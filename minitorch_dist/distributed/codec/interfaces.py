"""The parts of the writer and of the reader that a module for one family of values needs."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple, Protocol

from minitorch_dist.distributed.codec.trust import Trust
from minitorch_dist.tensors.devices import device


class Writing(Protocol):
    trust: Trust
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

    def mark(self) -> tuple[int, ...]:
        """A point to which `back_to` returns as if nothing had been written since."""

    def back_to(self, mark: tuple[int, ...]) -> None: ...


class Reading(Protocol):
    trust: Trust

    def value(self) -> Any: ...
    def text(self) -> str: ...
    def byte(self) -> int: ...
    def count(self) -> int: ...
    def integer(self) -> int: ...
    def take(self, nbytes: int) -> memoryview:
        """The next so many bytes."""

    def octets(self, nbytes: int) -> memoryview:
        """The bytes that `Writing.octets` wrote, exactly `nbytes` of them. They belong to the caller."""

    def place(self) -> int:
        """Reserve the next number for SAME; `fill` says what has it."""

    def fill(self, place: int, value: Any) -> None: ...


class Other(NamedTuple):
    """A type of the floors above, which says itself how it travels."""

    write: Callable[[Writing, Any], None]
    read: Callable[[Reading], Any]


others: dict[type[Any], int] = {}  # the number of each
by_number: dict[int, Other] = {}


def register_type(kind: type[Any], number: int, other: Other) -> None:
    """Teach the codec a type. The number is part of what goes over the wire."""
    others[kind] = number
    by_number[number] = other
