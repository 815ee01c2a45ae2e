"""One message of RPC: its form, how it is written and sent, and how it is put together and read.

    header   kind u8 · flags u8 · part u16 · parts u16 · id u64 · floor u64
    part 0   what the codec wrote; the parts after it are its large arrays, one each

    REQUEST  please do this           ANSWER, FAILURE   the result of request `id`
    PROBE    what of request `id`?    STATE             it is unknown here, or being worked on
    DONE     the answer to `id` is here: forget it
    WAKE     to oneself: look again

The sender gives each request its number. `floor` says that all its requests to this receiver with smaller
numbers are over, and need not be remembered. Only `retry` sends PROBE, STATE and DONE.

    RpcWriter ─► parts ─► Sender ─► transport ─► RpcInbox ─► RpcMessage ─► RpcReader
"""

from __future__ import annotations

import struct
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from contextvars import ContextVar
from functools import partial
from typing import Any, Final, NamedTuple

import numpy as np

from minitorch_dist.distributed.codec import Reader, Writer
from minitorch_dist.distributed.codec.trust import Trust
from minitorch_dist.distributed.mail.receives import DISCARD
from minitorch_dist.tensors.devices import device
from transports.contract import Sink, Transport
from transports.errors import Lost, PeerLost, TransportClosed

HEADER: Final = struct.Struct("<BBHHQQ")
REQUEST, ANSWER, FAILURE, PROBE, STATE, DONE, WAKE = range(7)
SYSTEM: Final = 1  # flag of a request: it is about RPC itself, and runs no function of the user
ONE_WAY: Final = 2  # flag of a request: nobody waits for an answer, and none is sent
KNOWN: Final = 1  # flag of a STATE: the request is here and not answered yet
SMALL: Final = 1 << 16


class RpcMessage(NamedTuple):
    """A message of which all parts have arrived."""

    src: int
    kind: int
    flags: int
    id: int
    floor: int
    parts: list[memoryview]

    @property
    def is_system(self) -> bool:
        return bool(self.flags & SYSTEM)

    @property
    def is_one_way(self) -> bool:
        return bool(self.flags & ONE_WAY)


class LostNotice(NamedTuple):
    """A worker is gone."""

    src: int
    reason: str


class IncomingPart:
    """A sink for one part. It keeps the part in memory of its own, which an array may use later."""

    __slots__ = ("_filled", "_on_complete", "_view")

    def __init__(self, nbytes: int, on_complete: Callable[[memoryview], None]) -> None:
        self._on_complete, self._filled = on_complete, 0
        self._view = (
            memoryview(bytearray(nbytes)) if nbytes < SMALL else np.empty(nbytes, np.uint8).data
        )
        if nbytes == 0:
            on_complete(self._view)

    def write(self, piece: memoryview) -> None:
        end = self._filled + piece.nbytes
        self._view[self._filled : end] = piece
        self.advance(piece.nbytes)

    def space(self) -> memoryview | None:
        return self._view[self._filled :]

    def advance(self, nbytes: int) -> None:
        self._filled += nbytes
        if self._filled == self._view.nbytes:
            self._on_complete(self._view)


class Assembly:
    """A message of several parts, some of which have arrived."""

    __slots__ = ("_arrived", "_on_complete", "message", "parts")

    def __init__(
        self, message: RpcMessage, parts: int, on_complete: Callable[[RpcMessage], None]
    ) -> None:
        self.message, self.parts, self._on_complete = message, parts, on_complete
        self._arrived: dict[int, memoryview] = {}  # only parts that came, whatever is announced

    def arrived(self, part: int, view: memoryview) -> None:
        if part in self._arrived:  # it came twice
            return
        self._arrived[part] = view
        if len(self._arrived) == self.parts:
            self.message.parts.extend(self._arrived[part] for part in range(self.parts))
            self._on_complete(self.message)


class RpcInbox:
    """Takes the messages of all workers from the transport, and keeps those that are complete.

    The transport calls it from any thread, so nothing in here waits.
    """

    def __init__(self) -> None:
        self.arrived: deque[RpcMessage | LostNotice] = deque()
        self._begun: dict[tuple[int, int, int], Assembly] = {}

    def is_stale(self, src: int, kind: int, id: int) -> bool:
        """Whether a message is one more copy of something that is over."""
        return False

    def sink(self, src: int, header: bytes, nbytes: int) -> Sink:
        if len(header) != HEADER.size:
            return self._refuse(src, f"it sent a header of {len(header)} bytes")
        kind, flags, part, parts, id, floor = HEADER.unpack(header)
        message = RpcMessage(src, kind, flags, id, floor, [])
        if parts != 1 or part or kind >= WAKE:
            return self._unusual_sink(message, part, parts, nbytes)
        return IncomingPart(nbytes, partial(self._arrived, message))

    def _arrived(self, message: RpcMessage, view: memoryview) -> None:
        message.parts.append(view)
        self.arrived.append(message)

    def _unusual_sink(self, message: RpcMessage, part: int, parts: int, nbytes: int) -> Sink:
        """Of a message in several parts, of one to oneself, or of one that should not be."""
        kind, src = message.kind, message.src
        if kind > WAKE or part >= parts or (kind >= PROBE and parts != 1):
            return self._refuse(src, f"it sent part {part} of {parts} of a message of kind {kind}")
        if kind == WAKE:
            return DISCARD
        return self._sink_of_part(message, part, parts, nbytes)

    def _sink_of_part(self, message: RpcMessage, part: int, parts: int, nbytes: int) -> Sink:
        key = message.src, message.kind, message.id
        found = self._begun.get(key)
        if found is None or found.parts != parts:
            if self.is_stale(*key):
                return DISCARD
            found = self._begun[key] = Assembly(message, parts, self._complete)
        return IncomingPart(nbytes, partial(found.arrived, part))

    def _complete(self, message: RpcMessage) -> None:
        """All parts of a message are here."""
        self._begun.pop((message.src, message.kind, message.id), None)
        self.arrived.append(message)

    def _refuse(self, src: int, reason: str) -> Sink:
        """A worker breaks the form of messages: it counts as lost from now on."""
        self.arrived.append(LostNotice(src, reason))
        return DISCARD

    def lost(self, src: int, reason: Exception) -> None:
        for key in [key for key in self._begun if key[0] == src]:
            self._begun.pop(key, None)
        self.arrived.append(LostNotice(src, Lost.of(reason)))


class Sender:
    """Sends messages to workers. Each part of a message is one message of the transport."""

    def __init__(self, transport: Transport) -> None:
        self._transport = transport

    def send(
        self, dst: int, kind: int, id: int, parts: list[Any], flags: int = 0, floor: int = 0
    ) -> None:
        """Send a message. PeerLost if its worker is gone, TransportClosed if we have left."""
        count = len(parts)
        for number, part in enumerate(parts):
            self._transport.send(dst, HEADER.pack(kind, flags, number, count, id, floor), part)

    def notify(self, dst: int, id: int, parts: list[Any]) -> None:
        """Send a system request that nobody answers, if its worker is still there."""
        self.send_if_there(dst, REQUEST, id, parts, SYSTEM | ONE_WAY)

    def send_if_there(
        self, dst: int, kind: int, id: int, parts: list[Any] | None = None, flags: int = 0
    ) -> None:
        """Send a message of any kind, if its worker is still there."""
        with suppress(PeerLost, TransportClosed):
            self.send(dst, kind, id, [b""] if parts is None else parts, flags)

    def __repr__(self) -> str:
        return f"<Sender over {self._transport!r}>"


class RpcWriter(Writer):
    """Writes a message to a worker.

    Some values have to act when the message goes out, and not before: a writer may take back what it wrote.
    `notes` holds such an act by the value's place in `kept`.
    """

    __slots__ = ("notes", "to")

    def __init__(self, to: int, device_name: Callable[[device], str], trusted: Trust) -> None:
        super().__init__(device_name, trust=trusted)
        self.to = to
        self.notes: dict[int, tuple[int, Callable[[], None]]] = {}

    def request(self, operation: int, asked: Any) -> None:
        self.out.append(operation)
        self.value(asked)

    def note(self, act: Callable[[], None]) -> None:
        """Call `act` when the message goes out with the value that was remembered last."""
        self.notes[len(self.kept) - 1] = id(self.kept[-1]), act

    def depart(self) -> None:
        """The message goes out: call the acts of the values that are still in it."""
        for place, (identity, act) in self.notes.items():
            if place < len(self.kept) and id(self.kept[place]) == identity:
                act()


class RpcReader(Reader):
    """Reads a message of a worker. Only here may a reference to an object come."""

    __slots__ = ()

    def __init__(self, parts: list[memoryview], trusted: Trust) -> None:
        super().__init__(parts[0], parts[1:], trusted)


# ------------------------------------------------------------------ for distributed autograd

# A message whose call is made in a context of autograd carries a load behind its value:
#
#     caller    load = pack(writer, to, context)     after the arguments are written: their tensors are known
#     callee    pack = enter(load, reader, src)      before the function runs: it runs in that context
#     callee    load = pack(writer, to)              after the result is written
#     caller    back(load, reader, src)              with the answer
#
# The floor of autograd stands above this one and registers its functions here; `init_rpc` imports it. A call
# outside of all contexts asks for none of them.

Pack = Callable[[Writer, int], Any]  # the load of an answer to that worker


class AutogradHooks(NamedTuple):
    """The functions of autograd."""

    pack: Callable[[Writer, int, int], Any]
    enter: Callable[[Any, Reader, int], Pack]
    back: Callable[[Any, Reader, int], None]
    backward: Callable[[int, list[Any], bool], None]


context_id: Final[ContextVar[int | None]] = ContextVar("autograd context", default=None)
_autograd: list[AutogradHooks] = []


def register_autograd(hooks: AutogradHooks) -> None:
    _autograd[:] = [hooks]


def autograd() -> AutogradHooks:
    if not _autograd:
        raise RuntimeError("a call in an autograd context: init_rpc was not called here")
    return _autograd[0]


def no_load(writer: Writer, to: int) -> None:
    """The `Pack` of a call that was made in no context."""
