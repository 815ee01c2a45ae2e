"""A wrapper of a transport that keeps a journal of sends, deliveries and losses.

    journal = []
    transport = RecordingTransport(TcpTransport(rank, size), journal)
    …
    [str(event) for event in journal]      # ['send 0->1 #0 4+1024 bytes', …]

Messages are numbered for each pair of ranks, so the n-th send of one journal is the n-th delivery
of the other, over whatever transport.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import MutableSequence
from typing import NamedTuple

from transports.contract import Buffer, Inbox, Sink, Transport
from transports.wrapping import WrappedTransport


class TransportEvent(NamedTuple):
    """One line of a journal. `at` is the clock's instant and no part of what happened."""

    kind: str  # "send": begun, "deliver": complete, "lost"
    src: int
    dst: int
    number: int  # among the messages from src to dst; of "lost": how many had come
    header: bytes
    nbytes: int
    at: int

    def __str__(self) -> str:
        size = "" if self.kind == "lost" else f" {len(self.header)}+{self.nbytes} bytes"
        return f"{self.kind} {self.src}->{self.dst} #{self.number}{size}"


class RecordingTransport(WrappedTransport):
    """Writes into `journal`, a list that several ranks of one process may share."""

    scheme = "recording"

    def __init__(
        self, inner: Transport, journal: MutableSequence[TransportEvent] | None = None
    ) -> None:
        super().__init__(inner)
        self.journal: MutableSequence[TransportEvent] = [] if journal is None else journal
        self._guard = inner.clock.condition()
        self._sent: Counter[int] = Counter()

    def watched(self, inbox: Inbox) -> Inbox:
        return _Recorder(self, inbox)

    def send(self, dst: int, header: bytes, payload: Buffer) -> None:
        with self._guard:
            number = self._sent[dst]
            self._sent[dst] += 1
            self.note("send", self.rank, dst, number, header, memoryview(payload).nbytes)
        self.inner.send(dst, header, payload)

    def note(self, kind: str, src: int, dst: int, number: int, header: bytes, nbytes: int) -> None:
        self.journal.append(
            TransportEvent(kind, src, dst, number, header, nbytes, self.clock.now())
        )

    def __repr__(self) -> str:
        return f"<RecordingTransport, {len(self.journal)} events, around {self.inner!r}>"


class _Recorder:
    """The inbox between."""

    def __init__(self, transport: RecordingTransport, inbox: Inbox) -> None:
        self._transport, self._inbox = transport, inbox
        self._came: Counter[int] = Counter()

    def sink(self, src: int, header: bytes, nbytes: int) -> Sink:
        number = self._came[src]
        self._came[src] += 1
        sink = self._inbox.sink(src, header, nbytes)
        if nbytes == 0:
            self.delivered(src, number, header, 0)
        return _RecordedSink(self, sink, (src, number, header, nbytes))

    def delivered(self, src: int, number: int, header: bytes, nbytes: int) -> None:
        self._transport.note("deliver", src, self._transport.rank, number, header, nbytes)

    def lost(self, src: int, reason: Exception) -> None:
        self._transport.note("lost", src, self._transport.rank, self._came[src], b"", 0)
        self._inbox.lost(src, reason)


class _RecordedSink:
    """Passes the pieces on and notes the last one."""

    def __init__(
        self, recorder: _Recorder, sink: Sink, message: tuple[int, int, bytes, int]
    ) -> None:
        self._recorder, self._sink, self._message = recorder, sink, message
        self._left = message[3]
        self.space = sink.space

    def write(self, piece: memoryview) -> None:
        self._sink.write(piece)
        self._count(len(piece))

    def advance(self, nbytes: int) -> None:
        self._sink.advance(nbytes)
        self._count(nbytes)

    def _count(self, nbytes: int) -> None:
        self._left -= nbytes
        if self._left == 0:
            self._recorder.delivered(*self._message)
