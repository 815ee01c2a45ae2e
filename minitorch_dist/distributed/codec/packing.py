"""A value as one run of bytes, where nothing can travel beside it: meta and buffers in a row.

u64 length of the meta · u32 number of buffers · u64 the length of each · meta · buffers
"""

from __future__ import annotations

import struct
from typing import Any, Final

from minitorch_dist.distributed.codec.errors import DamagedEncoding
from minitorch_dist.distributed.codec.trust import Trust
from minitorch_dist.distributed.codec.writer_and_reader import decode, encode

_HEAD: Final = struct.Struct("<QI")


def pack(value: Any, trust: Trust = Trust.VALUES) -> bytes:
    meta, buffers = encode(value, trust)
    sizes = struct.pack(f"<{len(buffers)}Q", *(buffer.nbytes for buffer in buffers))
    return b"".join([_HEAD.pack(len(meta), len(buffers)), sizes, meta, *buffers])


def unpack(octets: bytes | bytearray | memoryview, trust: Trust = Trust.VALUES) -> Any:
    """The value; CodecError if the bytes are none."""
    view = memoryview(octets)
    if view.nbytes < _HEAD.size:
        raise DamagedEncoding(f"{view.nbytes} bytes are no packed value")
    length, count = _HEAD.unpack_from(view)
    at = _HEAD.size + 8 * count
    if view.nbytes < at:
        raise DamagedEncoding(f"{count} buffers are promised in {view.nbytes} bytes")
    sizes = struct.unpack_from(f"<{count}Q", view, _HEAD.size)
    if at + length + sum(sizes) != view.nbytes:
        raise DamagedEncoding(f"{at + length + sum(sizes)} bytes are promised and {view.nbytes} are there")
    meta = view[at : at + length]
    at += length
    buffers = []
    for size in sizes:
        buffers.append(memoryview(bytearray(view[at : at + size])))
        at += size
    return decode(meta, buffers, trust)
