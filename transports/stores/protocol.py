"""The messages between a store's client and its server: lists of byte strings in a frame.

    request   operation, seconds to wait, number of keys, keys …, values …
    answer    "ok", values …
              "timeout", number of missing keys, missing …, present …, note
              "empty", text            (QueueEmptyError)
              "error", text            (DistStoreError; the connection goes on)

A frame of `transports.frames` without header, whose payload is the list: a count, then length and
bytes of each. Nothing here allocates more than it was given. An answer is a list of pieces, which are sent one after
the other; long values stand in it as they are kept.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from math import inf
from typing import NamedTuple

from transports import frames
from transports.errors import DistStoreError, QueueEmptyError, StoreTimeout

MAX_MESSAGE = 1 << 28
MAX_FIELDS = 1 << 17  # keys and values of one request; to read so many takes a tenth of a second
SHORT = 512  # bytes; a shorter field is copied, since a piece of its own would take as much
_LENGTH = struct.Struct("<I")


class StoreRequest(NamedTuple):
    operation: str
    keys: list[str]
    values: list[bytes]
    seconds: float


def pack(fields: Sequence[bytes], most: float = inf) -> bytes:
    """A whole frame."""
    return b"".join(pieces(fields, most))


def pieces(fields: Sequence[bytes], most: float) -> list[bytes]:
    """A whole frame, in pieces; long fields are not copied. Nothing is put together for a frame that is too long."""
    most, nbytes = min(most, MAX_MESSAGE), _LENGTH.size * (len(fields) + 1) + sum(map(len, fields))
    if nbytes > most:
        raise DistStoreError(
            f"{nbytes} bytes are too many for a store, at most {most}: it is meant for small values; send large ones as tensors"
        )
    found: list[bytes] = []
    near = [frames.pack(0, nbytes), _LENGTH.pack(len(fields))]
    for field in fields:
        near.append(_LENGTH.pack(len(field)))
        if len(field) <= SHORT:
            near.append(field)
        else:
            found += b"".join(near), field
            near = []
    return [*found, b"".join(near)] if near else found


def unpack(body: bytes | bytearray | memoryview, most: int = MAX_MESSAGE) -> list[bytes]:
    """The fields of a frame's payload, at most so many; FrameError if it is not exactly that."""
    view, offset = memoryview(body), _LENGTH.size
    if len(view) < offset:
        raise frames.FrameError("a list of fields without its count")
    (count,) = _LENGTH.unpack_from(view)
    if count > (len(view) - offset) // _LENGTH.size:
        raise frames.FrameError(f"{count} fields do not fit into {len(view)} bytes")
    if count > most:
        raise frames.FrameError(f"{count} fields, of which at most {most} are taken")
    fields = []
    for _ in range(count):
        if len(view) - offset < _LENGTH.size:
            raise frames.FrameError("the list of fields ends before its last one")
        (length,) = _LENGTH.unpack_from(view, offset)
        offset += _LENGTH.size
        if length > len(view) - offset:
            raise frames.FrameError(f"a field of {length} bytes, of which {len(view) - offset} came")
        fields.append(bytes(view[offset : offset + length]))
        offset += length
    if offset != len(view):
        raise frames.FrameError(f"{len(view) - offset} bytes follow the last field")
    return fields


def frame_length(buffer: bytes | bytearray) -> int | None:
    """How long the frame at the head of `buffer` is; None if its beginning has not come yet."""
    if len(buffer) < frames.LENGTH:
        return None
    header_length, length = frames.unpack(buffer)
    if header_length or length > MAX_MESSAGE:
        raise frames.too_long((header_length, length), (0, MAX_MESSAGE))
    return frames.LENGTH + length


def pack_request(request: StoreRequest, most: float = inf) -> bytes:
    if len(request.keys) + len(request.values) > MAX_FIELDS:
        raise DistStoreError(
            f"{request.operation} with {len(request.keys)} keys and {len(request.values)} values: a store takes at "
            f"most {MAX_FIELDS} in one request. Ask several times"
        )
    keys = [key.encode() for key in request.keys]
    head = [request.operation.encode(), repr(float(request.seconds)).encode(), b"%d" % len(keys)]
    return pack([*head, *keys, *request.values], most)


def unpack_request(body: bytes | bytearray | memoryview) -> StoreRequest:
    try:
        operation, seconds, count, *rest = unpack(body, MAX_FIELDS + 3)
        number = int(count)
        if not 0 <= number <= len(rest):
            raise ValueError(f"{number} keys among {len(rest)} fields")
        keys = [key.decode() for key in rest[:number]]
        limit = float(seconds)
        if limit != limit:
            raise ValueError("a timeout that is not a number")
        return StoreRequest(operation.decode(), keys, rest[number:], limit)
    except ValueError as error:
        raise frames.FrameError(f"this is no request to a store: {error}") from error


def pack_answer(answer: Sequence[bytes] | Exception, most: float = inf) -> bytes:
    """A whole frame; of an answer that is too long, that it is."""
    return b"".join(answer_pieces(answer, most))


def answer_pieces(answer: Sequence[bytes] | Exception, most: float = inf) -> list[bytes]:
    """The same in pieces."""
    try:
        return pieces(_answer_fields(answer), most)
    except DistStoreError as too_long:
        return pieces([b"error", str(too_long).encode()], most)


def _answer_fields(answer: Sequence[bytes] | Exception) -> list[bytes]:
    if isinstance(answer, StoreTimeout):
        names = [key.encode() for key in [*answer.missing, *answer.present, answer.note]]
        return [b"timeout", b"%d" % len(answer.missing), *names]
    if isinstance(answer, QueueEmptyError):
        return [b"empty", str(answer).encode()]
    if isinstance(answer, Exception):
        return [b"error", str(answer).encode()]
    return [b"ok", *answer]


def unpack_answer(body: bytes | bytearray | memoryview, seconds: float) -> list[bytes]:
    """The values; raises what the answer says is wrong."""
    try:
        kind, *values = unpack(body)
        if kind == b"ok":
            return values
        texts = [value.decode() for value in values]
        if kind == b"timeout":
            *names, note = texts[1:]
            missing = int(texts[0])
            raise StoreTimeout(seconds, names[:missing], names[missing:], note)
        if kind == b"empty":
            raise QueueEmptyError(texts[0])
        if kind == b"error":
            raise DistStoreError(texts[0])
        raise ValueError(f"an answer of kind {kind[:20]!r}")
    except (ValueError, IndexError) as error:
        raise frames.FrameError(f"this is no answer of a store: {error}") from error
