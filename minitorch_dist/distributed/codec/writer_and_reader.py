"""The two ends of an encoding: from a value to bytes, and from bytes to the value again.

One small function writes each type, found by the type itself, and one reads each kind. `plain`, `arrays`, `failures`
and `pickled` put theirs into the two tables.

The reader checks every count against what is there before it believes it. For any bytes, `decode` returns a value
or raises a `CodecError` (`Damaged` or `UnknownName`). It takes memory and time in proportion to them. Only a pickle
can do more, so it is read only from peers that are trusted in full.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Collection, Iterable, Sequence
from typing import Any, Final, TypeVar

from minitorch_dist.distributed.codec import kinds
from minitorch_dist.distributed.codec.errors import DamagedEncoding, Unsendable
from minitorch_dist.distributed.codec.trust import Trust
from minitorch_dist.serialization import alike
from minitorch_dist.serialization.alike import Alike
from minitorch_dist.tensors.devices import device

# ------------------------------------------------------------------------------------------ writing


class Writer:
    """One message in the making: `out` is its meta, `buffers` are its outside buffers.

    `kept` are the values with an identity, in the order in which the reader meets them.
    """

    __slots__ = ("_depth", "_numbers", "buffers", "device_name", "kept", "out", "outside_from", "trust")

    def __init__(
        self,
        device_name: Callable[[device], str] = str,
        outside_from: int = kinds.OUTSIDE_FROM,
        trust: Trust = Trust.VALUES,
    ) -> None:
        self.device_name, self.outside_from, self.trust = device_name, outside_from, trust
        self.out = bytearray()
        self.buffers: list[memoryview] = []
        self.kept: list[Any] = []
        self._numbers: dict[int, int] = {}
        self._depth = 0

    def value(self, value: Any) -> None:
        """Write any value. Unsendable says what inside it cannot be."""
        (_WRITERS.get(type(value)) or _by_ancestry(type(value)))(self, value)

    def otherwise(self, value: Any) -> None:
        """Write a value that has no form of its own (see `pickled`)."""
        _WRITERS[object](self, value)

    def text(self, text: str) -> None:
        """Write a text without its kind."""
        encoded = text.encode(errors="surrogatepass")
        self.out += kinds.COUNT.pack(len(encoded))
        self.out += encoded

    def octets(self, view: memoryview) -> None:
        """Write bytes that the reader knows the number of: inside, or as an outside buffer."""
        if view.nbytes < self.outside_from:
            self.out.append(0)
            self.out += view
        else:
            if len(self.buffers) >= kinds.MAX_BUFFERS:
                raise Unsendable(f"more than {kinds.MAX_BUFFERS} large arrays in one message")
            self.out.append(1)
            self.out += kinds.COUNT.pack(len(self.buffers))
            self.buffers.append(view)

    def mark(self) -> tuple[int, ...]:
        """A point to which `back_to` returns as if nothing had been written since."""
        return len(self.out), len(self.buffers), len(self.kept), self._depth

    def back_to(self, mark: tuple[int, ...]) -> None:
        size, buffers, kept, self._depth = mark
        del self.out[size:], self.buffers[buffers:]
        for value in self.kept[kept:]:
            self._numbers.pop(id(value), None)
        del self.kept[kept:]

    # --------------------------------------------------------------------------------- containers

    def is_new(self, value: Any) -> bool:
        """Whether it is written for the first time. If it is not, this writes where it stands."""
        number = self._numbers.setdefault(id(value), len(self.kept))
        if number < len(self.kept):
            self.out += kinds.KIND_AND_COUNT.pack(kinds.SAME, number)
            return False
        self.kept.append(value)
        return True

    def items(self, kind: int, whole: Collection[Any], items: Iterable[Any] | None = None) -> None:
        """A container, and the values in it: `items`, where going through it gives others."""
        self.out += kinds.KIND_AND_COUNT.pack(kind, len(whole))
        self._depth += 1
        if self._depth > kinds.MAX_DEPTH:
            raise Unsendable(f"containers nested deeper than {kinds.MAX_DEPTH}")
        place = -1
        try:
            for place, item in enumerate(whole if items is None else items):  # noqa: B007
                (_WRITERS.get(type(item)) or _by_ancestry(type(item)))(self, item)
        except Unsendable as error:
            raise error.inside(_where(whole, place)) from None
        self._depth -= 1


def _where(whole: Collection[Any], place: int) -> str:
    """The n-th of the values that were written of a container, for an error."""
    if isinstance(whole, set | frozenset):
        return "{…}"
    return f"[{list(whole)[place // 2]!r}]" if isinstance(whole, dict) else f"[{place}]"


Write = Callable[[Writer, Any], None]
_WRITERS: Final[dict[type[Any], Write]] = {}
_ANCESTORS: Final[list[tuple[type[Any], Write]]] = []  # of types that are not in the table itself


def once(write: Write) -> Write:
    """For values with an identity: write each for the first time only, and then where it stands."""

    def written(writer: Writer, value: Any) -> None:
        if writer.is_new(value):
            write(writer, value)

    return written


def writes(kind: type[Any], write: Write, below: bool = False) -> None:
    """Let this function write values of a type; with `below` also those of all types below it."""
    if below:
        _ANCESTORS.append((kind, write))
    else:
        _WRITERS[kind] = write


def _by_ancestry(kind: type[Any]) -> Write:
    found = (write for ancestor, write in _ANCESTORS if issubclass(kind, ancestor))
    return next(found, _WRITERS[object])


def encode(value: Any, trust: Trust = Trust.VALUES) -> tuple[bytearray, list[memoryview]]:
    """The meta and the outside buffers of a value; the buffers are the value's own memory."""
    writer = Writer(trust=trust)
    writer.value(value)
    return writer.out, writer.buffers


# ------------------------------------------------------------------------------------------ reading

T = TypeVar("T")
D = TypeVar("D", bound=dict[Any, Any])
_UNFILLED: Final = object()


class Reader:
    """One message, and how far it has been read."""

    __slots__ = ("_at", "_buffers", "_depth", "_kept", "_meta", "_size", "_used", "trust")

    def __init__(
        self, meta: bytes | bytearray | memoryview, buffers: Sequence[memoryview] = (), trust: Trust = Trust.VALUES
    ) -> None:
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
                f"{self._size - self._at} bytes and {len(self._buffers) - self._used} buffers follow the value"
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
            raise DamagedEncoding(f"{count} items in the {self._size - self._at} bytes that are left")
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

    def keep(self, value: T) -> T:
        """The next number for SAME is that of this container, which may be inside itself."""
        self._kept.append(value)
        return value

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

    def pairs(self, found: D) -> D:
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
        return found

    def same(self) -> Any:
        number: int = kinds.COUNT.unpack(self.take(4))[0]
        if number >= len(self._kept) or self._kept[number] is _UNFILLED:
            raise DamagedEncoding(f"a reference to value {number} of {len(self._kept)}")
        return self._kept[number]

    def _deeper(self) -> None:
        self._depth += 1
        if self._depth > kinds.MAX_DEPTH:
            raise DamagedEncoding(f"containers nested deeper than {kinds.MAX_DEPTH}")


Read = Callable[[Reader], Any]
READERS: Final[dict[int, Read]] = {}  # by kind


def keeping(read: Read) -> Read:
    """For values that were written `once`, and cannot be inside themselves."""

    def found(reader: Reader) -> Any:
        place = reader.place()
        value = read(reader)
        reader.fill(place, value)
        return value

    return found


def decode(
    meta: bytes | bytearray | memoryview, buffers: Sequence[memoryview] = (), trust: Trust = Trust.VALUES
) -> Any:
    """The value; CodecError if the bytes are none. The buffers become the memory of its arrays."""
    reader = Reader(meta, buffers, trust)
    try:
        value = reader.value()
    except (struct.error, RecursionError) as error:
        raise DamagedEncoding(f"{error}") from None
    reader.end()
    return value
