"""Faults that are planted in a right transport, one for each way in which a line was seen broken. The whole kit is run over
each, as by somebody who does not know what to look for, and has to name the line within seconds."""

from __future__ import annotations

import re
import threading
from collections.abc import Iterator
from contextlib import suppress
from typing import Any

import pytest

from tests.transports.wrapping import WrappedTransport
from transports import conformance
from transports.clock import PICO, SYSTEM, Clock
from transports.contract import Inbox, Sink, Transport
from transports.errors import CLOSED, PeerLost
from transports.queue import QueueTransport
from transports.virtual.clock import VirtualClock

OVER = threading.Event()  # what hangs may go on


class Between:
    """Stands before the inbox of the kit, and passes everything on."""

    def __init__(self, inbox: Inbox, end: Planted) -> None:
        self.inbox, self.end = inbox, end

    def sink(self, src: int, header: bytes, nbytes: int) -> Sink:
        return self.inbox.sink(src, header, nbytes)

    def lost(self, src: int, reason: Exception) -> None:
        self.inbox.lost(src, reason)


class Planted(WrappedTransport):
    between: type[Between] = Between

    def watched(self, inbox: Inbox) -> Inbox:
        return self.between(inbox, self)


# ------------------------------------------------------------------------------------------ line 1


class DoesNotWaitForThem(Planted):
    """connect returns at once, and each send waits until the rest of it is done."""

    is_there = is_over = False

    def connect(self, store: Any, inbox: Any, timeout: Any = None) -> None:
        def later() -> None:
            with suppress(Exception):
                self.inner.connect(store, self.watched(inbox), timeout)
            self.is_there = True
            while not self.is_over:  # over queue, the thread that connects is the rank
                self.clock.sleep(0.01)

        self.clock.start(later, "connects later")

    def _wait(self) -> None:
        while not self.is_there:
            self.clock.sleep(0.001)

    def send(self, dst: int, header: Any, payload: Any) -> None:
        self._wait()
        self.inner.send(dst, header, payload)

    def progress(self, timeout: Any, done: Any = None) -> bool:
        self._wait()
        return self.inner.progress(timeout, done)

    def close(self) -> None:
        self.is_over = True
        self.inner.close()


class WaitsForTheMissing(Planted):
    def connect(self, store: Any, inbox: Any, timeout: Any = None) -> None:
        if timeout == 0.2:
            OVER.wait()
        super().connect(store, inbox, timeout)


# ------------------------------------------------------------------------------------------ line 2


class SendsOneAfterTheOther(Planted):
    """A long send waits until its receiver takes it, and takes nothing itself: the classic deadlock."""

    looks = 0
    ends: dict[tuple[int, int], SendsOneAfterTheOther] = {}

    def connect(self, store: Any, inbox: Any, timeout: Any = None) -> None:
        self.ends[self.world_size, self.rank] = self
        super().connect(store, inbox, timeout)

    def send(self, dst: int, header: Any, payload: Any) -> None:
        end = self.ends[self.world_size, dst]
        before = end.looks
        while dst != self.rank and len(payload) > 100_000 and end.looks == before:
            if OVER.wait(0.001):
                break
        self.inner.send(dst, header, payload)

    def progress(self, timeout: Any, done: Any = None) -> bool:
        self.looks += 1
        return self.inner.progress(timeout, done)


# ------------------------------------------------------------------------------------------ line 3


class Tears(Planted):
    def send(self, dst: int, header: Any, payload: Any) -> None:
        half = len(payload) // 2 if len(payload) > 60_000 else 0
        if half:
            self.inner.send(dst, header, payload[:half])
        self.inner.send(dst, header, payload[half:])


class LosesTheNewest(Planted):
    def send(self, dst: int, header: Any, payload: Any) -> None:
        if header != b"8":
            self.inner.send(dst, header, payload)


class Misdelivers(Planted):
    """Of three ranks the last one gets what is meant for the one before, now and then."""

    def send(self, dst: int, header: Any, payload: Any) -> None:
        wrong = self.world_size == 3 and dst == 1 and header == b"7"
        self.inner.send(2 if wrong else dst, header, payload)


class SaysAnotherSender(Planted):
    class between(Between):
        def sink(self, src: int, header: bytes, nbytes: int) -> Sink:
            size = self.end.world_size
            return self.inbox.sink((src + 1) % size if size == 3 else src, header, nbytes)


class KnowsNotItself(Planted):
    def send(self, dst: int, header: Any, payload: Any) -> None:
        if dst != self.rank:
            self.inner.send(dst, header, payload)


class AnnouncesLess(Planted):
    class between(Between):
        def sink(self, src: int, header: bytes, nbytes: int) -> Sink:
            return self.inbox.sink(src, header, nbytes - 1 if nbytes == 7 else nbytes)


class AnnouncesMore(Planted):
    class between(Between):
        def sink(self, src: int, header: bytes, nbytes: int) -> Sink:
            return self.inbox.sink(src, header, nbytes + 1 if nbytes == 7 else nbytes)


class CallsTwice(Planted):
    """Another thread delivers an empty message while this one delivers."""

    class between(Between):
        def sink(self, src: int, header: bytes, nbytes: int) -> Sink:
            if nbytes:
                return self.inbox.sink(src, header, nbytes)
            both = [threading.Thread(target=self.inbox.sink, args=(src, header, 0)) for _ in range(9)]
            for one in both:
                one.start()
            for one in both:
                one.join()
            return self.inbox.sink(src, header, nbytes)


class NeverReturns(Planted):
    def progress(self, timeout: Any, done: Any = None) -> bool:
        if timeout == 0.01:
            OVER.wait()
        return self.inner.progress(timeout, done)


class Oversleeps(Planted):
    def progress(self, timeout: Any, done: Any = None) -> bool:
        found = self.inner.progress(timeout, done)
        if timeout == 0.02 and not found:
            self.clock.sleep(1.2)
        return found


class Spins(Planted):
    def progress(self, timeout: Any, done: Any = None) -> bool:
        deadline = self.clock.deadline(timeout)
        while not self.inner.progress(0, done):
            if deadline.is_over() or (done is not None and done()):
                return False
        return True


class WakesForNothing(Planted):
    """It waits for nothing, so a rank that waits in a loop computes."""

    def progress(self, timeout: Any, done: Any = None) -> bool:
        return self.inner.progress(0, done)


# ------------------------------------------------------------------------------------------ line 4


class SealsInPlace(Planted):
    def send(self, dst: int, header: Any, payload: Any) -> None:
        self.inner.send(dst, header, bytes(payload))
        if isinstance(payload, bytearray) and len(payload) == 5000:
            payload[0] ^= 255


class WritesOn(Planted):
    """It keeps the place into which it put a message, and puts the next one there, too."""

    class between(Between):
        kept: memoryview | None = None

        def sink(self, src: int, header: bytes, nbytes: int) -> Sink:
            found = self.inbox.sink(src, header, nbytes)
            if nbytes == 1_000_000 and self.kept is not None:
                self.kept[:] = bytes(len(self.kept))
            space = found.space() if nbytes == 5000 else None
            self.kept = self.kept if space is None else space
            return found


# ------------------------------------------------------------------------------------- lines 5 and 6


class DropsTheLast(Planted):
    """The last message goes out with the next call, and close is none."""

    waiting: tuple[Any, ...] | None = None

    def _flush(self) -> None:
        if self.waiting is not None:
            waiting, self.waiting = self.waiting, None
            self.inner.send(*waiting)

    def send(self, dst: int, header: Any, payload: Any) -> None:
        self._flush()
        if header == b"19" and self.world_size > 1:
            self.waiting = dst, header, bytes(payload)
        else:
            self.inner.send(dst, header, payload)

    def progress(self, timeout: Any, done: Any = None) -> bool:
        self._flush()
        return self.inner.progress(timeout, done)


class SaysNoFarewell(Planted):
    class between(Between):
        def lost(self, src: int, reason: Exception) -> None:
            self.inbox.lost(src, PeerLost(src, f"its connection ended ({reason})"))


class TakesTheKilledForClosed(Planted):
    class between(Between):
        def lost(self, src: int, reason: Exception) -> None:
            self.inbox.lost(src, PeerLost(src, CLOSED))


class SendsSayClosed(Planted):
    def send(self, dst: int, header: Any, payload: Any) -> None:
        try:
            self.inner.send(dst, header, payload)
        except PeerLost:
            raise PeerLost(dst, CLOSED) from None


class WritesAfterLost(Planted):
    """A last message comes when its sender was lost."""

    class between(Between):
        def lost(self, src: int, reason: Exception) -> None:
            sink = self.inbox.sink(src, b"last", 4)
            sink.write(memoryview(b"la"))
            self.inbox.lost(src, reason)
            sink.write(memoryview(b"st"))


class LosesAgainLater(Planted):
    class between(Between):
        def lost(self, src: int, reason: Exception) -> None:
            self.inbox.lost(src, reason)
            self.end.again = src, reason

    again: tuple[int, Exception] | None = None
    seen: Any = None

    def watched(self, inbox: Inbox) -> Inbox:
        self.seen = inbox
        return super().watched(inbox)

    def progress(self, timeout: Any, done: Any = None) -> bool:
        found = self.inner.progress(timeout, done)
        if self.again is not None and not found:
            again, self.again = self.again, None
            self.seen.lost(*again)
        return found


class SilentAboutTheDead(Planted):
    class between(Between):
        def lost(self, src: int, reason: Exception) -> None:
            if isinstance(reason, PeerLost) and reason.kind != "lost":
                self.inbox.lost(src, reason)


class ClosesNever(Planted):
    def close(self) -> None:
        OVER.wait()
        self.inner.close()


VIRTUAL: list[tuple[int, type[Planted], str]] = [
    (1, DoesNotWaitForThem, "connect returned before rank . had begun to connect"),
    (3, Tears, "came with"),
    (3, LosesTheNewest, "only 59 of 60 messages"),
    (3, Misdelivers, "says it is the|only .* had arrived|each message comes once"),
    (1, SaysAnotherSender, "after connect; .* arrived"),
    (1, KnowsNotItself, "only 0 of 1 messages from rank"),
    (3, AnnouncesLess, "announced with 6 bytes, but 7 came"),
    (3, AnnouncesMore, "begins before the last one is complete|only . of 9"),
    (4, SealsInPlace, "send has changed the caller's buffer"),
    (4, WritesOn, "changed after it was delivered"),
    (5, DropsTheLast, "rank 0 sent 20 messages before close, and 19 came"),
    (5, SaysNoFarewell, r"but lost\(0\) says that it is 'lost'"),
    (6, TakesTheKilledForClosed, r"died, and .*; but lost\(.\) says that it is 'closed'"),
    (6, SendsSayClosed, "died, and PeerLost says that it is closed"),
    (5, WritesAfterLost, "rank 0 is heard of again after it was lost"),
    (5, LosesAgainLater, r"lost\(0\) was called twice"),
    (6, SilentAboutTheDead, r"had died, but lost\(.\) had not come"),
]
REAL: list[tuple[int, str, type[Planted], float, str]] = [  # line, check, …, patience, complaint
    (1, "missing", WaitsForTheMissing, 0.5, "the check did not return within"),
    (2, "both_first", SendsOneAfterTheOther, 1.0, "did not return within .*; it is in send at test_p"),
    (3, "sizes", CallsTwice, 30.0, "two threads called the inbox at once"),
    (3, "patience", NeverReturns, 0.5, "the check did not return within .*; it is in progress at"),
    (3, "patience", Oversleeps, 30.0, r"progress\(0.02\) with nothing to deliver took \d.* s"),
    (3, "patience", Spins, 30.0, "progress computes while it waits"),
    (3, "patience", WakesForNothing, 30.0, "progress computes while it waits"),
    (5, "close_twice", ClosesNever, 1.0, "close did not return within"),
]


@pytest.fixture(autouse=True)
def over() -> Iterator[None]:
    OVER.clear()
    before = set(threading.enumerate())
    yield
    OVER.set()
    for thread in set(threading.enumerate()) - before:
        thread.join(60)


def complaints(planted: type[Planted], clock: Clock, sizes: list[int], **options: Any) -> list[str]:
    def make(rank: int, world_size: int, folder: str) -> Transport:
        return planted(QueueTransport(rank, world_size, clock=clock))

    with pytest.raises(conformance.NotConforming) as caught:
        conformance.check(conformance.in_threads(make, clock), sizes, **options)
    return caught.value.complaints


@pytest.mark.parametrize(("line", "planted", "complaint"), VIRTUAL)
def test_it_is_caught(line: int, planted: type[Planted], complaint: str) -> None:
    said = complaints(planted, VirtualClock(), [1, 2, 3], patience=1.0)
    assert_said(said, line, complaint)


@pytest.mark.slow
@pytest.mark.parametrize(("line", "name", "planted", "patience", "complaint"), REAL)
def test_it_is_caught_in_real_time(
    line: int, name: str, planted: type[Planted], patience: float, complaint: str
) -> None:
    said = complaints(planted, SYSTEM, [2], only=[name], patience=patience)
    assert_said(said, line, complaint)


def test_after_a_rank_that_hangs_nothing_more_is_tried() -> None:
    """The classic deadlock, before the whole kit: one verdict, after one patience."""
    clock = VirtualClock()
    said = complaints(SilentAboutTheDead, clock, [2, 3, 5])
    assert len(said) == 1
    assert said[0].startswith("contract line 6, check 'death', 2 ranks") and "not tried" in said[0]
    assert clock.now() < 60 * PICO


def test_a_stranger_that_holds_up_everybody_is_caught() -> None:
    clock = VirtualClock()

    def make(rank: int, world_size: int, folder: str) -> Transport:
        return QueueTransport(rank, world_size, clock=clock)

    def attack(transport: Transport) -> None:
        clock.sleep(1e6)

    with pytest.raises(conformance.NotConforming, match=r"line 7, .*the check did not return within"):
        conformance.check(conformance.in_threads(make, clock), [2], [], 1.0, attack)


def assert_said(said: list[str], line: int, complaint: str) -> None:
    named = [text for text in said if re.search(complaint, text)]
    assert any(f"line {line}" in text for text in named), said
