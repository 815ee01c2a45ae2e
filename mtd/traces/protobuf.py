"""Protobuf's bytes, as far as traces need them: numbers of seven bits a byte, and fields with a number and a kind.

    field = varint(number << 3 | kind), then   kind 0: a varint   1: 8 bytes   2: a length and so many bytes   5: 4 bytes

https://protobuf.dev/programming-guides/encoding/
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final

from transports.plain_text import clean

VARINT, EIGHT, BYTES, FOUR = 0, 1, 2, 5
LONGEST: Final = 10  # bytes of a varint


class TraceError(ValueError):
    """A file that is not a trace, or a trace that makes no sense. The message says where."""

    def __str__(self) -> str:
        return clean(super().__str__())


def varint(number: int) -> bytes:
    """A number of 64 bits; negative ones as their complement."""
    number &= (1 << 64) - 1
    found = bytearray()
    while number > 127:
        found.append(number & 127 | 128)
        number >>= 7
    found.append(number)
    return bytes(found)


def read_varint(data: bytes | memoryview, at: int) -> tuple[int, int]:
    """A number, and where the next thing is."""
    number = 0
    for place in range(LONGEST):
        if at + place >= len(data):
            raise TraceError(f"a number is cut off at byte {at}")
        byte = data[at + place]
        number |= (byte & 127) << 7 * place
        if byte < 128:
            return number & (1 << 64) - 1, at + place + 1
    raise TraceError(f"a number at byte {at} has more than {LONGEST} bytes")


def number_field(number: int, value: int) -> bytes:
    return varint(number << 3 | VARINT) + varint(value)


def bytes_field(number: int, value: bytes | str) -> bytes:
    data = value.encode() if isinstance(value, str) else value
    return varint(number << 3 | BYTES) + varint(len(data)) + data


def packed_field(number: int, values: Iterable[int]) -> bytes:
    return bytes_field(number, b"".join(map(varint, values)))


def fields(data: bytes) -> Iterator[tuple[int, int | bytes]]:
    """Each field's number and value: an int for varints and fixed ones, else bytes."""
    at = 0
    while at < len(data):
        key, at = read_varint(data, at)
        number, kind = key >> 3, key & 7
        value: int | bytes
        if kind == VARINT:
            value, at = read_varint(data, at)
        else:
            length = {EIGHT: 8, FOUR: 4}.get(kind)
            if kind == BYTES:
                length, at = read_varint(data, at)
            if length is None:
                raise TraceError(f"a field at byte {at} has the unknown kind {kind}")
            if at + length > len(data):
                raise TraceError(f"{length} bytes are promised at byte {at}, but {len(data) - at} are there")
            value, at = data[at : at + length], at + length
            if kind != BYTES:
                value = int.from_bytes(value, "little")
        yield number, value


def packed(value: int | bytes) -> list[int]:
    """The numbers of a repeated field, packed or one by one."""
    if isinstance(value, int):
        return [value]
    found, at = [], 0
    while at < len(value):
        number, at = read_varint(value, at)
        found.append(number)
    return found


def text(value: int | bytes) -> str:
    if isinstance(value, int):
        raise TraceError(f"a text is expected, not the number {value}")
    try:
        return value.decode()
    except UnicodeDecodeError as error:
        raise TraceError(f"a text is no UTF-8: {error}") from None


def signed(value: int) -> int:
    """An int32 or int64 as it was meant."""
    return value - (1 << 64) if value >= 1 << 63 else value
