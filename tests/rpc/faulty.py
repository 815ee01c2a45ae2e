"""A transport whose messages come late: rules say how late, and those of the same sender wait behind them.

    faults = Faults(seed=7)
    faults.install(plans.drop(0.01))                  # a lost packet, which is sent again: 50 ms
    faults.install(lambda m: 0.2 if m.nbytes > 1000 else None)

The first rule that has an answer decides, at the receiver. A message that is on time is streamed through. One that is late is
kept whole, and `progress` gives it to the inbox when its time has come. The fate of the n-th message from a to b depends on
the seed, the rule's kind, a, b and n alone.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import NamedTuple, TypeAlias

from tests.transports.wrapping import WrappedTransport
from transports.clock import PICO
from transports.contract import Inbox, Sink, Store, Transport
from transports.errors import TransportClosed
from transports.faults import plans

_WAKE = b"\0faulty: look again\0"  # a header of our own messages


class FaultyMessage(NamedTuple):
    """A message as a rule sees it."""

    src: int
    dst: int
    number: int  # among the messages from src to dst
    header: bytes
    nbytes: int
    at: int = 0  # picoseconds since the transport connected


Rule: TypeAlias = Callable[[FaultyMessage], float | None]
AGAIN = 0.05  # seconds until a lost packet is sent again


class Faults:
    """The rules of one network, which its ranks share."""

    def __init__(self, seed: int = 0) -> None:
        self.seed = seed
        self._rules: list[Rule] = []

    def install(self, rule: Rule | plans.Strike) -> None:
        """Add a rule behind the others."""
        self._rules.append(rule if callable(rule) else lambda m: self._struck(rule, m))

    def _struck(self, fault: plans.Strike, m: FaultyMessage) -> float | None:
        if not fault.fits(m.src, m.dst, m.number, m.at):
            return None
        if plans.chance(self.seed, fault.kind, m.src, m.dst, m.number) >= fault.p:
            return None
        return AGAIN if fault.kind == "drop" else fault.span / PICO

    def judge(self, message: FaultyMessage) -> float:
        """Seconds by which it is late."""
        found = (rule(message) for rule in self._rules)
        return next((late for late in found if late is not None), 0.0)


class _Kept:
    """A message, or the news that its sender is lost, waiting for its time."""

    def __init__(self, src: int, header: bytes, nbytes: int, due: int) -> None:
        self.src, self.header, self.due = src, header, due
        self.data, self.filled = bytearray(nbytes), 0
        self.reason: Exception | None = None

    def is_whole(self) -> bool:
        return self.filled == len(self.data)

    def write(self, piece: memoryview) -> None:
        self.data[self.filled : self.filled + len(piece)] = piece
        self.filled += len(piece)

    def space(self) -> memoryview | None:
        return memoryview(self.data)[self.filled :]

    def advance(self, nbytes: int) -> None:
        self.filled += nbytes


class FaultyTransport(WrappedTransport):
    scheme = "faulty"

    def __init__(self, inner: Transport, faults: Faults) -> None:
        super().__init__(inner)
        self.faults = faults
        self._guard = inner.clock.condition()  # one thread at a time calls the inbox
        self._inbox: Inbox | None = None
        self._kept: list[_Kept] = []
        self._came: Counter[int] = Counter()
        self._lost: dict[int, Exception] = {}
        self._deliveries = self._reported = self._inside = 0
        self._keepings = 0  # messages that were kept: who waits has to look when they are due
        self._began = self.clock.now()
        self._is_closed = False

    def connect(self, store: Store, inbox: Inbox, timeout: float | None = None) -> None:
        self._inbox = inbox
        self._began = self.clock.now()
        self.inner.connect(store, self, timeout)

    def close(self) -> None:
        self._is_closed = True
        self.inner.close()

    # -- what the inner transport calls -----------------------------------------------------

    def sink(self, src: int, header: bytes, nbytes: int) -> Sink:
        with self._guard:
            if header == _WAKE or src in self._lost:
                return _Nowhere()
            at = self.clock.now() - self._began
            message = FaultyMessage(src, self.rank, self._came[src], header, nbytes, at)
            self._came[src] += 1
            late = self.faults.judge(message)
            if not late and all(kept.src != src for kept in self._kept):
                assert self._inbox is not None, "connect came first"
                self._deliveries += 1
                return _Guarded(self, self._inbox.sink(src, header, nbytes))
            kept = _Kept(src, header, nbytes, self.clock.now() + round(late * PICO))
            self._kept.append(kept)
            self._keepings += 1
            return kept

    def lost(self, src: int, reason: Exception) -> None:
        with self._guard:
            if any(kept.src == src for kept in self._kept):
                last = _Kept(src, b"", 0, 0)
                last.reason = reason
                self._kept.append(last)
            else:
                self._lose(src, reason)

    def _lose(self, src: int, reason: Exception) -> None:
        if src not in self._lost and self._inbox is not None:
            self._lost[src] = reason
            self._kept = [kept for kept in self._kept if kept.src != src]
            self._inbox.lost(src, reason)
            self._deliveries += 1

    @contextmanager
    def counting(self) -> Iterator[None]:
        """Under the guard; afterwards something more is delivered."""
        with self._guard:
            yield
            self._deliveries += 1

    # -- progress ---------------------------------------------------------------------------

    def progress(self, timeout: float | None, done: Callable[[], bool] | None = None) -> bool:
        if self._is_closed:
            raise TransportClosed(f"rank {self.rank} has closed its transport")
        deadline = self.clock.deadline(timeout)
        seen = self._reported if done is None else self._deliveries
        with self._guard:
            self._inside += 1
        try:
            while True:
                kept = self._keepings
                next_due = self._hand_out()
                if self._deliveries != seen or (done is not None and done()):
                    break
                left = deadline.left()
                if next_due is not None:
                    left = next_due if left is None else min(left, next_due)
                self.inner.progress(left, self._until(seen, kept, done))
                self._hand_out()
                if deadline.is_over() or self._deliveries != seen:
                    break
        finally:
            with self._guard:
                self._inside -= 1
        found, self._reported = self._deliveries > self._reported, self._deliveries
        return found

    def _until(self, seen: int, kept: int, done: Callable[[], bool] | None) -> Callable[[], bool]:
        """The question of the inner transport before it waits. It does not know of our own deliveries, nor of
        messages that have been kept meanwhile.
        """
        return lambda: self._deliveries != seen or self._keepings != kept or (done is not None and done())

    def _hand_out(self) -> float | None:
        """Deliver what is due; seconds until the next is, if any."""
        with self._guard:
            before = self._deliveries
            now = self.clock.now()
            while due := [kept for kept in self._first_ones() if kept.due <= now]:
                self._deliver(due[0])
            waits = [kept.due for kept in self._first_ones()]
            news = self._deliveries != before and self._inside > 1
        if news:
            self._wake()
        return max(0, min(waits) - now) / PICO if waits else None

    def _first_ones(self) -> list[_Kept]:
        """Those that only wait for their time: whole, and the first of their sender."""
        found, blocked = [], set()
        for kept in self._kept:
            if kept.src not in blocked and kept.is_whole():
                found.append(kept)
            blocked.add(kept.src)
        return found

    def _deliver(self, kept: _Kept) -> None:
        self._kept.remove(kept)
        if kept.reason is not None:
            self._lose(kept.src, kept.reason)
            return
        assert self._inbox is not None, "connect came first"
        sink = self._inbox.sink(kept.src, kept.header, len(kept.data))
        if kept.data:
            sink.write(memoryview(kept.data))
        self._deliveries += 1

    def _wake(self) -> None:
        """Let the threads that wait in progress look again."""
        try:
            self.inner.send(self.rank, _WAKE, b"")
        except TransportClosed:
            return

    def __repr__(self) -> str:
        return f"<FaultyTransport, {self.faults!r}, {len(self._kept)} kept, around {self.inner!r}>"


class _Guarded:
    """A sink of the inbox above, called under the guard like the inbox itself."""

    def __init__(self, transport: FaultyTransport, sink: Sink) -> None:
        self._transport, self._sink = transport, sink
        self.space = sink.space

    def write(self, piece: memoryview) -> None:
        with self._transport.counting():
            self._sink.write(piece)

    def advance(self, nbytes: int) -> None:
        with self._transport.counting():
            self._sink.advance(nbytes)


class _Nowhere:
    """Takes what nobody gets."""

    def write(self, piece: memoryview) -> None:
        pass

    def space(self) -> memoryview | None:
        return None

    def advance(self, nbytes: int) -> None:
        pass
