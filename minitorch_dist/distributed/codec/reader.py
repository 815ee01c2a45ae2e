"""From bytes to the value again. Every count is checked against what is there before it is believed.

For any bytes, `decode` returns a value or raises a `CodecError` (`Damaged` or `UnknownName`). It takes
memory and time in proportion to them. Only a pickle can do more, so it is read only from peers that
are trusted in full. `plain`, `arrays`, `failures` and `pickled` put their functions into the table.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Sequence
from typing import Any, Final

from minitorch_dist.distributed.codec import kinds
from minitorch_dist.distributed.codec.errors import CodecError, DamagedEncoding
from minitorch_dist.distributed.codec.trust import Trust
from minitorch_dist.serialization import alike
from minitorch_dist.serialization.alike import Alike

_UNFILLED: Final = object()


class Reader:
    """One message, and how far it has been read."""

    __slots__ = ("_at", "_buffers", "_depth", "_kept", "_meta", "_size", "_used", "trust")

    def __init__(
        self, meta: bytes | bytearray | memoryview, buffers: Sequence[memoryview] = (),
        trust: Trust = Trust.VALUES,
    ) -> None:  # fmt: skip
        self.trust = trust
        self._meta = memoryview(meta)
        self._size, self._at = self._meta.nbytes, 0
        self._buffers, self._used = buffers, 0
        self._kept: list[Any] = []
        self._depth = 0

    def value(self) -> Any:
        try:
            read = READERS[self._meta[self._at]]
        except (IndexError, KeyError):
            raise self._no_value() from None
        self._at += 1
        return read(self)

    def _no_value(self) -> DamagedEncoding:
        if self._at >= self._size:
            return DamagedEncoding("the message ends in the middle of a value")
        return DamagedEncoding(f"there is no kind of value {self._meta[self._at]}")

    def end(self) -> None:
        """Damaged unless all was read."""
        if self._at != self._size or self._used != len(self._buffers):
            raise DamagedEncoding(
                f"{self._size - self._at} bytes and {len(self._buffers) - self._used} buffers follow "
                "the value"
            )

    def take(self, nbytes: int) -> memoryview:
        """The next so many bytes."""
        end = self._at + nbytes
        if nbytes < 0 or end > self._size:
            there = self._size - self._at
            raise DamagedEncoding(f"{nbytes} bytes are promised and {there} are there")
        view = self._meta[self._at : end]
        self._at = end
        return view

    def byte(self) -> int:
        return self.take(1)[0]

    def count(self) -> int:
        """How many values follow: each takes a byte at least."""
        count: int = kinds.COUNT.unpack(self.take(4))[0]
        if count > self._size - self._at:
            raise DamagedEncoding(
                f"{count} items in the {self._size - self._at} bytes that are left"
            )
        return count

    def integer(self) -> int:
        return int(kinds.INT.unpack(self.take(8))[0])

    def text(self) -> str:
        octets = bytes(self.take(self.count()))
        try:
            return octets.decode()
        except UnicodeDecodeError:
            pass
        try:
            return octets.decode(errors="surrogatepass")
        except UnicodeDecodeError:
            raise DamagedEncoding("a text that is not UTF-8") from None

    def octets(self, nbytes: int) -> memoryview:
        """The bytes that `Writer.octets` wrote, exactly `nbytes` of them. They belong to the caller."""
        place = self.byte()
        if place == 0:
            return memoryview(bytearray(self.take(nbytes)))
        number: int = kinds.COUNT.unpack(self.take(4))[0]
        if place != 1 or number != self._used or number >= len(self._buffers):
            raise DamagedEncoding(f"outside buffer {number} of {len(self._buffers)}")
        self._used += 1
        buffer = self._buffers[number]
        if buffer.nbytes != nbytes:
            raise DamagedEncoding(f"an outside buffer of {buffer.nbytes} bytes for {nbytes}")
        return buffer

    def place(self) -> int:
        """Reserve the next number for SAME; `fill` says what has it."""
        self._kept.append(_UNFILLED)
        return len(self._kept) - 1

    def fill(self, place: int, value: Any) -> None:
        self._kept[place] = value

    def kept(self, place: int) -> Any:
        """The n-th value that has an identity; the writer's `kept` has the same order."""
        return self._kept[place] if 0 <= place < len(self._kept) else None

    # --------------------------------------------------------------------------------- containers

    def items(self) -> list[Any]:
        """So many values in a row."""
        return self.into([])

    def into(self, found: list[Any]) -> list[Any]:
        count = self.count()
        self._deeper()
        value = self.value
        found += [value() for _ in range(count)]
        self._depth -= 1
        return found

    def pairs(self, found: dict[Any, Any]) -> None:
        count = self.count()
        self._deeper()
        value = self.value
        counts = Alike() if count > alike.MANY else None
        for _ in range(count):
            key, item = value(), value()
            try:
                if counts is not None:
                    counts.count(key)
                found[key] = item
            except TypeError:  # a value that has no hash, or cannot be compared
                raise DamagedEncoding(f"a key that is {type(key).__name__}") from None
            except ValueError as error:
                raise DamagedEncoding(f"{error}") from None
        self._depth -= 1

    def same(self) -> Any:
        number: int = kinds.COUNT.unpack(self.take(4))[0]
        if number >= len(self._kept) or self._kept[number] is _UNFILLED:
            raise DamagedEncoding(f"a reference to value {number} of {len(self._kept)}")
        return self._kept[number]

    def _deeper(self) -> None:
        self._depth += 1
        if self._depth > kinds.MAX_DEPTH:
            raise DamagedEncoding(f"containers nested deeper than {kinds.MAX_DEPTH}")

    def __repr__(self) -> str:
        return f"<Reader at {self._at} of {self._size} bytes, {len(self._buffers)} buffers>"


READERS: Final[dict[int, Callable[[Reader], Any]]] = {}  # by kind


def decode(
    meta: bytes | bytearray | memoryview,
    buffers: Sequence[memoryview] = (),
    trust: Trust = Trust.VALUES,
) -> Any:
    """The value; CodecError if the bytes are none. The buffers become the memory of its arrays."""
    reader = Reader(meta, buffers, trust)
    try:
        value = reader.value()
    except (struct.error, RecursionError) as error:
        raise DamagedEncoding(f"{error}") from None
    reader.end()
    return value


__all__ = ["CodecError", "Reader", "decode"]
