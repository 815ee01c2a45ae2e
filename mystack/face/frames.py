"""How messages are cut out of a stream: sixteen bytes of frame, the header, the payload (lesson 09)."""

import struct

from .errors import DistNetworkError

FRAME = struct.Struct("<2sHIQ")
MAGIC, VERSION = b"mt", 1
LENGTH = FRAME.size
MAX_HEADER, MAX_PAYLOAD = 1 << 20, 1 << 40


class FrameError(DistNetworkError):
    """These bytes are no frame."""


def pack(header_length, payload_length):
    return FRAME.pack(MAGIC, VERSION, header_length, payload_length)


def unpack(data):
    """The two lengths; nothing is reserved for what is longer than may be."""
    magic, version, header_length, payload_length = FRAME.unpack(data)
    if (magic, version) != (MAGIC, VERSION):
        raise FrameError(f"a frame begins with {MAGIC!r} {VERSION}, not {magic!r} {version}")
    if header_length > MAX_HEADER or payload_length > MAX_PAYLOAD:
        raise FrameError(f"a frame announces {header_length} + {payload_length} bytes: too much")
    return header_length, payload_length
