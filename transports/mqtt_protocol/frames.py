"""One payload on a topic of ours: a head, a piece of a message, a seal.

    0       2         3      4       5   6     10    14     22          30    38      46      54              58      66
    ┌───────┬─────────┬──────┬───────┬───┬─────┬─────┬──────┬───────────┬─────┬───────┬───────┬───────────────┬───────┬──────┬──────┐
    │ "mq"  │ version │ kind │ flags │ 0 │ src │ dst │ mark │ peer mark │ seq │ acked │ limit │ header length │ total │ body │ seal │
    └───────┴─────────┴──────┴───────┴───┴─────┴─────┴──────┴───────────┴─────┴───────┴───────┴───────────────┴───────┴──────┴──────┘

A mark is a random number that an end draws when it comes to life: a frame for, or from, an earlier
life carries another and is nothing. The seal is HMAC-SHA256 over all before it, cut to 16 bytes,
with a key made from the job's key and the run. So the broker and other readers of its topics cannot make a
frame, change one, or move one to another pair, place or run. They can read (use TLS and a broker you trust
where that matters), drop, delay and repeat.
"""

from __future__ import annotations

import hmac
import struct
from typing import NamedTuple

from transports.contract import MAX_HEADER, MAX_PAYLOAD
from transports.keys import world_key

_HEAD = struct.Struct("<2sBBBxIIQQQQQIQ")
MAGIC, VERSION = b"mq", 1
LENGTH = _HEAD.size
SEAL = 16

HELLO, WELCOME, DATA, BYE, ACK, GONE, PRESENT, DEAD, ASK, ANSWER = range(1, 11)
KINDS = range(HELLO, ANSWER + 1)
FIRST, GAP = 1, 2  # flags: a message begins here; something before this is missing

EVERYBODY = 0xFFFF_FFFF  # a dst


class FrameRefused(Exception):
    """These bytes are no frame of this run. They are dropped and counted."""


class Frame(NamedTuple):
    kind: int
    src: int
    dst: int
    mark: int
    peer_mark: int
    flags: int = 0
    seq: int = 0
    acked: int = 0  # the number that src expects next from dst
    limit: int = 0  # the number that dst may not reach yet
    header_length: int = 0  # FIRST only: how much of the body is the message's header
    total: int = 0  # FIRST only: bytes of the message's payload
    body: memoryview = memoryview(b"")


def run_key(run: str) -> bytes:
    """The key of all seals of one run."""
    return hmac.digest(world_key("mqtt frames"), run.encode(), "sha256")


def seal(key: bytes, frame: Frame, *pieces: bytes | memoryview) -> bytearray:
    """The frame as bytes; its body is `pieces`, copied here for the first time."""
    end = LENGTH + sum(map(len, pieces))
    data = bytearray(end + SEAL)
    _HEAD.pack_into(
        data, 0, MAGIC, VERSION, frame.kind, frame.flags, frame.src, frame.dst, frame.mark,
        frame.peer_mark, frame.seq, frame.acked, frame.limit, frame.header_length, frame.total,
    )  # fmt: skip
    at = LENGTH
    for piece in pieces:
        data[at : at + len(piece)] = piece
        at += len(piece)
    data[end:] = _sign(key, memoryview(data)[:end])
    return data


def unseal(key: bytes, data: bytes | bytearray) -> Frame:
    """The frame in these bytes; Refused says why they are none. Copies nothing."""
    end = len(data) - SEAL
    if end < LENGTH:
        raise FrameRefused("short")
    view = memoryview(data)
    (magic, version, kind, flags, src, dst, mark, peer_mark, seq, acked, limit, header_length, total) = (
        _HEAD.unpack_from(data)
    )
    if magic != MAGIC or version != VERSION:
        raise FrameRefused("foreign")
    if not hmac.compare_digest(_sign(key, view[:end]), view[end:]):
        raise FrameRefused("seal")
    if kind not in KINDS or header_length > min(MAX_HEADER, end - LENGTH) or total > MAX_PAYLOAD:
        raise FrameRefused("impossible")
    return Frame(kind, src, dst, mark, peer_mark, flags, seq, acked, limit, header_length, total, view[LENGTH:end])


def _sign(key: bytes, data: memoryview) -> bytes:
    return hmac.digest(key, data, "sha256")[:SEAL]
