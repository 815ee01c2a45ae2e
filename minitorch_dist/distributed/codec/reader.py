"""From bytes to the value again. Every count is checked against what is there before it is believed.

For any bytes, `decode` returns a value or raises a `CodecError` (`Damaged` or `UnknownName`). It takes
memory and time in proportion to them. Only a pickle can do more, so it is read only from peers that
are trusted in full.
"""

from __future__ import annotations

import struct
from collections import OrderedDict
from collections.abc import Callable, Sequence
from datetime import timedelta
from typing import Any, Final

import numpy as np

from minitorch_dist.distributed.codec import arrays, failures, kinds, names, pickled
from minitorch_dist.distributed.codec.errors import CodecError, DamagedEncoding, shown
from minitorch_dist.distributed.codec.interfaces import by_number
from minitorch_dist.distributed.codec.trust import Trust
from minitorch_dist.serialization import alike
from minitorch_dist.serialization.alike import Alike
from minitorch_dist.tensors import devices, dtypes
from minitorch_dist.tensors.size import Size

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
            read = _READERS[self._meta[self._at]]
        except IndexError:
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
        end = self._at + nbytes
        if nbytes < 0 or end > self._size:
            raise self._too_few(nbytes)
        view = self._meta[self._at : end]
        self._at = end
        return view

    def _too_few(self, nbytes: int) -> DamagedEncoding:
        there = self._size - self._at
        return DamagedEncoding(f"{nbytes} bytes are promised and {there} are there")

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


# -------------------------------------------------------------------------------- one for each kind


def _big(reader: Reader) -> int:
    return int.from_bytes(reader.take(reader.count()), "little", signed=True)


def _bytes(reader: Reader) -> bytes:
    return bytes(reader.octets(reader.integer()))


def _bytearray(reader: Reader) -> bytearray:
    place = reader.place()
    value = bytearray(reader.octets(reader.integer()))
    reader.fill(place, value)
    return value


def _list(reader: Reader) -> list[Any]:
    found: list[Any] = []
    reader.fill(reader.place(), found)
    return reader.into(found)


def _hashable(found: list[Any]) -> frozenset[Any]:
    try:
        alike.check(found)
        return frozenset(found)
    except TypeError:
        raise DamagedEncoding("something that has no hash is in a set") from None
    except ValueError as error:
        raise DamagedEncoding(f"{error}") from None


def _set(reader: Reader) -> set[Any]:
    found: set[Any] = set()
    reader.fill(reader.place(), found)
    found.update(_hashable(reader.items()))
    return found


def _dict(reader: Reader) -> dict[Any, Any]:
    found: dict[Any, Any] = {}
    reader.fill(reader.place(), found)
    reader.pairs(found)
    return found


def _ordered(reader: Reader) -> OrderedDict[Any, Any]:
    found: OrderedDict[Any, Any] = OrderedDict()
    reader.fill(reader.place(), found)
    reader.pairs(found)
    rest = reader.value()
    if type(rest) is not dict or not all(type(name) is str for name in rest):
        raise DamagedEncoding("the attributes of an ordered dict")
    found.__dict__.update(rest)
    return found


def _size(reader: Reader) -> Size:
    sides = reader.items()
    if any(type(side) is not int for side in sides):
        raise DamagedEncoding(f"a torch.Size of {shown(sides)}")
    return Size(sides)


def _slice(reader: Reader) -> slice:
    return slice(reader.value(), reader.value(), reader.value())


def _range(reader: Reader) -> range:
    parts = (reader.value(), reader.value(), reader.value())
    if any(type(part) is not int for part in parts) or parts[2] == 0:
        raise DamagedEncoding(f"a range of {shown(parts)}")
    return range(*parts)


def _timedelta(reader: Reader) -> timedelta:
    days, seconds, micros = kinds.DELTA.unpack(reader.take(24))
    try:
        return timedelta(days, seconds, micros)
    except OverflowError:
        raise DamagedEncoding(f"a time of {days} days") from None


def _dtype(reader: Reader) -> dtypes.dtype:
    name = reader.text()
    if name not in dtypes.BY_NAME:
        raise DamagedEncoding(f"there is no dtype {name!r}")
    return dtypes.BY_NAME[name]


def _device(reader: Reader) -> devices.device:
    name = reader.text()
    try:
        return devices.device(name)
    except (RuntimeError, TypeError, ValueError) as error:
        raise DamagedEncoding(f"{shown(name)} is no device: {error}") from None


def _numpy(reader: Reader) -> np.dtype[Any]:
    name = reader.text()
    found = arrays.plain_dtype(name)
    if found is None:
        raise DamagedEncoding(f"{name!r} is no dtype of plain elements")
    return found


def _same(reader: Reader) -> Any:
    return reader.same()


def _outside(reader: Reader) -> Any:
    raise DamagedEncoding("a buffer where a value should be")


def _other(reader: Reader) -> Any:
    number = reader.byte()
    if number not in by_number:
        raise DamagedEncoding(f"nobody here knows values of type {number}")
    place = reader.place()
    value = by_number[number].read(reader)
    reader.fill(place, value)
    return value


_BY_KIND: Final[dict[int, Callable[[Reader], Any]]] = {
    kinds.NONE: lambda reader: None,
    kinds.TRUE: lambda reader: True,
    kinds.FALSE: lambda reader: False,
    kinds.ELLIPSIS: lambda reader: ...,
    kinds.INT1: lambda reader: kinds.BYTE.unpack(reader.take(1))[0],
    kinds.INT8: Reader.integer,
    kinds.BIG: _big,
    kinds.FLOAT: lambda reader: kinds.FLOATS.unpack(reader.take(8))[0],
    kinds.COMPLEX: lambda reader: complex(*kinds.COMPLEXES.unpack(reader.take(16))),
    kinds.TEXT: Reader.text,
    kinds.BYTES: _bytes,
    kinds.BYTEARRAY: _bytearray,
    kinds.TUPLE: lambda reader: tuple(reader.items()),
    kinds.LIST: _list,
    kinds.SET: _set,
    kinds.FROZENSET: lambda reader: _hashable(reader.items()),
    kinds.SIZE: _size,
    kinds.DICT: _dict,
    kinds.ORDERED: _ordered,
    kinds.SLICE: _slice,
    kinds.RANGE: _range,
    kinds.TIMEDELTA: _timedelta,
    kinds.DTYPE: _dtype,
    kinds.DEVICE: _device,
    kinds.NUMPY: _numpy,
    kinds.ARRAY: arrays.read_array,
    kinds.SCALAR: arrays.read_scalar,
    kinds.TENSOR: arrays.read_tensor,
    kinds.NAMED: lambda reader: names.find(reader.text(), reader.trust),
    kinds.EXCEPTION: failures.read,
    kinds.PICKLED: pickled.read,
    kinds.SAME: _same,
    kinds.OUTSIDE: _outside,
    kinds.OTHER: _other,
}
_READERS: Final = [_BY_KIND[kind] for kind in range(len(_BY_KIND))]


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
