"""A message as bytes: its payload in one row, and its frame in a stream.

    0       2         4                 8                                16
    ┌───────┬─────────┬─────────────────┬─────────────────────────────────┬────────┬─────────┐
    │ "mt"  │ version │ header's length │ payload's length                │ header │ payload │
    └───────┴─────────┴─────────────────┴─────────────────────────────────┴────────┴─────────┘

Lengths are little-endian and capped before anything is allocated for them.
"""

from __future__ import annotations

import struct
from typing import Any, TypeAlias

from transports.errors import DistNetworkError

Buffer: TypeAlias = "bytes | bytearray | memoryview"

MAX_HEADER = 1 << 16  # bytes; longer ones are refused before anything is allocated
MAX_PAYLOAD = 1 << 40
NOTHING = memoryview(b"")

_FRAME = struct.Struct("<2sHIQ")
MAGIC, VERSION = b"mt", 1
LENGTH = _FRAME.size
END = _FRAME.pack(MAGIC, VERSION, 0xFFFF_FFFF, 0)  # instead of a frame: its sender has closed, and nothing follows


class FrameError(DistNetworkError):
    """These bytes are no frame."""


def octets(array: Any) -> memoryview:
    """The bytes of a contiguous array as a payload, writable if the array is."""
    if array.size == 0:
        return NOTHING
    try:
        return array.data.cast("B")  # type: ignore[no-any-return]
    except ValueError:  # bfloat16 has no letter in the buffer protocol
        return array.reshape(-1).view("u1").data  # type: ignore[no-any-return]


def flat(header: bytes, payload: Buffer) -> memoryview:
    """The payload's bytes in one row; ValueError if header or payload are longer than may be."""
    view = memoryview(payload)
    if len(header) > MAX_HEADER or view.nbytes > MAX_PAYLOAD:
        sizes, most = f"{len(header)} + {view.nbytes}", f"{MAX_HEADER} + {MAX_PAYLOAD}"
        raise ValueError(f"a message of {sizes} bytes is too long, at most {most} are sent: send it in parts")
    if view.nbytes == 0:  # no shape with a 0 in it can be cast
        return NOTHING
    return view if view.ndim == 1 and view.format == "B" else view.cast("B")


def pack(header_length: int, payload_length: int) -> bytes:
    return _FRAME.pack(MAGIC, VERSION, header_length, payload_length)


def unpack(data: bytes | bytearray | memoryview, offset: int = 0) -> tuple[int, int]:
    """The two lengths; FrameError if this is no frame, or longer than may be."""
    magic, version, header_length, payload_length = _FRAME.unpack_from(data, offset)
    if magic != MAGIC or version != VERSION:
        what = f"{magic!r} and version {version}, not with {MAGIC!r} and {VERSION}"
        raise FrameError(f"a frame begins with {what}: the stream is damaged, or the peer runs another version")
    if header_length > MAX_HEADER or payload_length > MAX_PAYLOAD:
        raise too_long((header_length, payload_length), (MAX_HEADER, MAX_PAYLOAD))
    return header_length, payload_length


def too_long(announced: tuple[int, int], allowed: tuple[int, int]) -> FrameError:
    return FrameError(f"a frame announces {announced} bytes of header and payload, more than {allowed}")
