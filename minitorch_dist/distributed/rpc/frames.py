"""One message of RPC: what it is, and which parts of it are in which message of the transport.

    header   kind u8 · flags u8 · part u16 · parts u16 · id u64 · floor u64
    part 0   what the codec wrote; the parts after it are its large arrays, one each

    REQUEST  please do this           ANSWER, FAILURE   what came of request `id`
    PROBE    what of request `id`?    STATE             it is unknown here, or being worked on
    DONE     the answer to `id` is here: forget it
    WAKE     to oneself: look again

A request has the number that its sender gave it. `floor`: all requests with smaller numbers, from
this sender to this receiver, are over, and need not be remembered.
"""

from __future__ import annotations

import struct
from typing import Final, NamedTuple

import numpy as np

from minitorch_dist.distributed.mail.receives import DISCARD
from transports.contract import Sink

HEADER: Final = struct.Struct("<BBHHQQ")
REQUEST, ANSWER, FAILURE, PROBE, STATE, DONE, WAKE = range(7)
SYSTEM: Final = 1  # flag of a request: it is about RPC itself, and runs no function of the user
ONE_WAY: Final = 2  # flag of a request: nobody waits for an answer, and none is sent
KNOWN: Final = 1  # flag of a STATE: the request is here and not answered yet
SMALL: Final = 1 << 16


class Message(NamedTuple):
    """A message that has arrived whole."""

    src: int
    kind: int
    flags: int
    id: int
    floor: int
    parts: list[memoryview]


class Lost(NamedTuple):
    """A worker is gone."""

    src: int
    reason: str


class Incoming:
    """A part while it arrives: a sink into memory of its own, which an array may keep."""

    __slots__ = ("_assembly", "_filled", "_part", "_view")

    def __init__(self, assembly: Assembly, part: int, nbytes: int) -> None:
        self._assembly, self._part, self._filled = assembly, part, 0
        self._view = (
            memoryview(bytearray(nbytes)) if nbytes < SMALL else np.empty(nbytes, np.uint8).data
        )
        if nbytes == 0:
            assembly.arrived(part, self._view)

    def write(self, piece: memoryview) -> None:
        end = self._filled + piece.nbytes
        self._view[self._filled : end] = piece
        self._filled = end
        if end == self._view.nbytes:
            self._assembly.arrived(self._part, self._view)

    def space(self) -> memoryview | None:
        return self._view[self._filled :]

    def advance(self, nbytes: int) -> None:
        self._filled += nbytes
        if self._filled == self._view.nbytes:
            self._assembly.arrived(self._part, self._view)


class Assembly:
    """A message some of whose parts have arrived."""

    __slots__ = ("_inbox", "_missing", "_parts", "message")

    def __init__(self, inbox: Assembling, message: Message, parts: int) -> None:
        self._inbox, self.message = inbox, message
        self._parts: list[memoryview | None] = [None] * parts
        self._missing = parts

    def arrived(self, part: int, view: memoryview) -> None:
        if self._parts[part] is None:  # else: it came twice
            self._parts[part] = view
            self._missing -= 1
            if not self._missing:
                if part or len(self._parts) > 1:
                    self._inbox.forget(self.message.src, self.message.kind, self.message.id)
                self.message.parts.extend(view for view in self._parts if view is not None)
                self._inbox.whole(self.message)


class Assembling:
    """The inbox: puts the parts of each message together, and hands over those that are whole."""

    def __init__(self) -> None:
        self._begun: dict[tuple[int, int, int], Assembly] = {}

    def whole(self, message: Message) -> None:
        """Called with each message, by any thread; must not wait."""
        raise NotImplementedError

    def gone(self, lost: Lost) -> None:
        raise NotImplementedError

    def is_stale(self, src: int, kind: int, id: int) -> bool:
        """Whether a message is one more copy of something that is over."""
        return False

    def sink(self, src: int, header: bytes, nbytes: int) -> Sink:
        if len(header) != HEADER.size:
            self.gone(Lost(src, f"it sent a header of {len(header)} bytes"))
            return DISCARD
        kind, flags, part, parts, id, floor = HEADER.unpack(header)
        if kind > WAKE or part >= parts or (kind >= PROBE and parts != 1):
            self.gone(Lost(src, f"it sent part {part} of {parts} of a message of kind {kind}"))
            return DISCARD
        if kind == WAKE:
            return DISCARD
        if parts == 1:
            assembly = Assembly(self, Message(src, kind, flags, id, floor, []), 1)
            return Incoming(assembly, 0, nbytes)
        key = src, kind, id
        found = self._begun.get(key)
        if found is None or len(found._parts) != parts:
            if self.is_stale(src, kind, id):
                return DISCARD
            found = self._begun[key] = Assembly(
                self, Message(src, kind, flags, id, floor, []), parts
            )
        return Incoming(found, part, nbytes)

    def forget(self, src: int, kind: int, id: int) -> None:
        """A message with several parts is whole, or wanted no more."""
        self._begun.pop((src, kind, id), None)

    def lost(self, src: int, reason: Exception) -> None:
        for key in [key for key in self._begun if key[0] == src]:
            self._begun.pop(key, None)
        self.gone(Lost(src, str(getattr(reason, "reason", reason))))
