"""How messages are cut out of a stream of bytes: sixteen bytes of frame, the header, the payload.

    0       2         4                 8                                16
    ┌───────┬─────────┬─────────────────┬─────────────────────────────────┬────────┬─────────┐
    │ "mt"  │ version │ header's length │ payload's length                │ header │ payload │
    └───────┴─────────┴─────────────────┴─────────────────────────────────┴────────┴─────────┘

Lengths are little-endian and capped before anything is allocated for them.
"""

from __future__ import annotations

import struct

from transports.contract import MAX_HEADER, MAX_PAYLOAD
from transports.errors import DistNetworkError

_FRAME = struct.Struct("<2sHIQ")
MAGIC, VERSION = b"mt", 1
LENGTH = _FRAME.size


class FrameError(DistNetworkError):
    """These bytes are no frame."""


def pack(header_length: int, payload_length: int) -> bytes:
    return _FRAME.pack(MAGIC, VERSION, header_length, payload_length)


def unpack(
    data: bytes | bytearray | memoryview, offset: int = 0,
    max_header: int = MAX_HEADER, max_payload: int = MAX_PAYLOAD,
) -> tuple[int, int]:  # fmt: skip
    """The two lengths; FrameError if this is no frame, or longer than may be."""
    magic, version, header_length, payload_length = _FRAME.unpack_from(data, offset)
    if magic != MAGIC or version != VERSION:
        raise _foreign(magic, version)
    if header_length > max_header or payload_length > max_payload:
        raise _too_long((header_length, payload_length), (max_header, max_payload))
    return header_length, payload_length


def _foreign(magic: bytes, version: int) -> FrameError:
    return FrameError(
        f"a frame begins with {MAGIC!r} and version {VERSION}, not {magic!r} and {version}: "
        "the stream is damaged, or the peer runs another version"
    )


def _too_long(announced: tuple[int, int], allowed: tuple[int, int]) -> FrameError:
    return FrameError(
        f"a frame announces {announced[0]} + {announced[1]} bytes, more than the "
        f"{allowed[0]} + {allowed[1]} that are allowed"
    )
