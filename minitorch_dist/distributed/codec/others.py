"""Types of the layers above, which say themselves how they travel: OTHER, the type's number, and what it wrote."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from minitorch_dist.distributed.codec import kinds
from minitorch_dist.distributed.codec.errors import DamagedEncoding
from minitorch_dist.distributed.codec.writer_and_reader import READERS, Reader, Writer, keeping, once, writes

KNOWN: Final[set[type[Any]]] = set()
_by_number: Final[dict[int, Callable[[Reader], Any]]] = {}


def register_type(
    kind: type[Any], number: int, write: Callable[[Writer, Any], None], read: Callable[[Reader], Any]
) -> None:
    """Teach the codec a type. The number is part of what goes over the wire."""

    @once
    def numbered(writer: Writer, value: Any) -> None:
        writer.out += bytes((kinds.OTHER, number))
        write(writer, value)

    writes(kind, numbered)
    KNOWN.add(kind)
    _by_number[number] = keeping(read)


def _read(reader: Reader) -> Any:
    number = reader.byte()
    if number not in _by_number:
        raise DamagedEncoding(f"nobody here knows values of type {number}")
    return _by_number[number](reader)


READERS[kinds.OTHER] = _read
