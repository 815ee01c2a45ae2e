"""The kit catches a transport that breaks a line, and says which: each of these breaks one."""

from __future__ import annotations

import os
import signal
from collections import defaultdict
from collections.abc import Callable
from typing import Any

import pytest

from tests.transports.wrapping import WrappedTransport
from transports import conformance
from transports.clock import PICO
from transports.contract import Inbox, Sink, Transport
from transports.errors import ConnectError, PeerLost, TransportClosed
from transports.queue import QueueTransport
from transports.sim import SimTransport
from transports.virtual import medium
from transports.virtual.clock import VirtualClock
from transports.virtual.network import Network
from transports.virtual.topology import uniform

WORLDS: defaultdict[str, dict[int, Any]] = defaultdict(dict)  # the ends of each world, by folder


class Broken(WrappedTransport):
    folder = ""


class ReturnsEarly(Broken):
    """connect only remembers; it happens with the first progress."""

    later: Any = None

    def connect(self, store: Any, inbox: Any, timeout: Any = None) -> None:
        self.later = (store, inbox, timeout)

    def progress(self, timeout: Any, done: Any = None) -> bool:
        if self.later is not None:
            self.inner.connect(*self.later)
            self.later = None
        return self.inner.progress(timeout, done)


class MissesNobody(Broken):
    def connect(self, store: Any, inbox: Any, timeout: Any = None) -> None:
        try:
            self.inner.connect(store, inbox, timeout)
        except ConnectError:
            return


class NamesNobody(Broken):
    def connect(self, store: Any, inbox: Any, timeout: Any = None) -> None:
        try:
            self.inner.connect(store, inbox, timeout)
        except ConnectError:
            raise ConnectError("somebody did not come") from None


class WaitsDeaf(Broken):
    """A send waits until the receiver calls progress, and delivers nothing meanwhile."""

    looks = 0
    is_open = True

    def send(self, dst: int, header: Any, payload: Any) -> None:
        end = WORLDS[self.folder].get(dst, self)
        before = end.looks
        while dst != self.rank and self.is_open and end.looks == before:
            self.clock.sleep(0.001)
        self.inner.send(dst, header, payload)

    def progress(self, timeout: Any, done: Any = None) -> bool:
        self.looks += 1
        return self.inner.progress(timeout, done)

    def close(self) -> None:
        self.is_open = False
        self.inner.close()


class LosesEmptyOnes(Broken):
    def send(self, dst: int, header: Any, payload: Any) -> None:
        if len(payload):
            self.inner.send(dst, header, payload)


class CutsHeaders(Broken):
    def send(self, dst: int, header: Any, payload: Any) -> None:
        self.inner.send(dst, header[:1000], payload)


class FlipsABit(Broken):
    def send(self, dst: int, header: Any, payload: Any) -> None:
        changed = bytearray(payload)
        if len(changed) > 65536:
            changed[65536] ^= 1
        self.inner.send(dst, header, changed)


class CutsLongOnes(Broken):
    def send(self, dst: int, header: Any, payload: Any) -> None:
        self.inner.send(dst, header, bytes(payload)[:65536])


class SendsTheLastTwice(Broken):
    def send(self, dst: int, header: Any, payload: Any) -> None:
        self.inner.send(dst, header, payload)
        if header == b"59":
            self.inner.send(dst, header, payload)


class Overtakes(Broken):
    """The 8th message goes out behind the 9th."""

    kept: Any = None

    def send(self, dst: int, header: Any, payload: Any) -> None:
        if header == b"8" and self.kept is None:
            self.kept = (dst, header, bytes(payload))
            return
        self.inner.send(dst, header, payload)
        if header == b"9" and self.kept and self.kept[0] == dst:
            self.inner.send(*self.kept)
            self.kept = ()


class MixesThreads(Broken):
    def send(self, dst: int, header: Any, payload: Any) -> None:
        self.payload = payload
        self.clock.sleep(0.001)
        self.inner.send(dst, header, self.payload)


class SleepsOn(Broken):
    """Only what comes after progress was called ends its wait."""

    def send(self, dst: int, header: Any, payload: Any) -> None:
        self.clock.sleep(0.0001)  # the waiters of the receiver have begun
        self.inner.send(dst, header, payload)

    def progress(self, timeout: Any, done: Any = None) -> bool:
        self.clock.sleep(0.02)
        return self.inner.progress(timeout, lambda: False)


class SendsAnywhere(Broken):
    def send(self, dst: int, header: Any, payload: Any) -> None:
        self.inner.send(dst % self.world_size, header, payload)


class TakesAnyHeader(Broken):
    def send(self, dst: int, header: Any, payload: Any) -> None:
        self.inner.send(dst, header[:1000], payload)


class SaysYes(Broken):
    def progress(self, timeout: Any, done: Any = None) -> bool:
        self.inner.progress(timeout, done)
        return True


class SaysNo(Broken):
    def progress(self, timeout: Any, done: Any = None) -> bool:
        self.inner.progress(timeout, done)
        return False


class KeepsTheBuffer(Broken):
    """Sends without a copy, when it is next called."""

    def __init__(self, inner: Transport) -> None:
        super().__init__(inner)
        self.waiting: list[Any] = []

    def send(self, dst: int, header: Any, payload: Any) -> None:
        self.waiting.append((dst, header, payload))

    def progress(self, timeout: Any, done: Any = None) -> bool:
        while self.waiting:
            self.inner.send(*self.waiting.pop(0))
        return self.inner.progress(timeout, done)


class SilentAboutLosses(Broken):
    class Watch:
        def __init__(self, inbox: Inbox) -> None:
            self.sink: Callable[..., Sink] = inbox.sink

        def lost(self, src: int, reason: Exception) -> None:
            pass

    def watched(self, inbox: Inbox) -> Inbox:
        return self.Watch(inbox)


class LosesTwice(Broken):
    class Watch:
        def __init__(self, inbox: Inbox) -> None:
            self.sink: Callable[..., Sink] = inbox.sink
            self.inbox = inbox

        def lost(self, src: int, reason: Exception) -> None:
            self.inbox.lost(src, reason)
            self.inbox.lost(src, reason)

    def watched(self, inbox: Inbox) -> Inbox:
        return self.Watch(inbox)


class ClosesOnce(Broken):
    is_closed = False

    def close(self) -> None:
        if self.is_closed:
            raise RuntimeError("already closed")
        self.is_closed = True
        self.inner.close()


class LivesOn(Broken):
    def progress(self, timeout: Any, done: Any = None) -> bool:
        try:
            return self.inner.progress(timeout, done)
        except TransportClosed:
            if timeout is None:
                raise
            return False


class WakesWithAnother(Broken):
    def progress(self, timeout: Any, done: Any = None) -> bool:
        try:
            return self.inner.progress(timeout, done)
        except TransportClosed:
            raise OSError("bad file descriptor") from None


class SendsToTheDead(Broken):
    def send(self, dst: int, header: Any, payload: Any) -> None:
        try:
            self.inner.send(dst, header, payload)
        except PeerLost:
            return


CASES: list[tuple[str, type[Broken], str]] = [
    ("connect", ReturnsEarly, "TransportClosed: the queue transport of rank . is not connected"),
    ("missing", MissesNobody, "connect returned although rank 2 never came"),
    ("missing", NamesNobody, "does not name the missing rank 2"),
    ("both_first", WaitsDeaf, "send to rank . did not return within"),
    ("sizes", LosesEmptyOnes, r"only \d of 9 messages from rank . had arrived"),
    ("sizes", CutsHeaders, "came with another header"),
    ("sizes", FlipsABit, "65537 bytes .* came with 65537 bytes, and they are others"),
    ("sizes", CutsLongOnes, "65537 bytes .* came with 65536 bytes"),
    ("interleaved", SendsTheLastTwice, "each message comes once"),
    ("interleaved", Overtakes, "the 8th message from rank . says it is the 9th"),
    ("threads_send", MixesThreads, "messages of threads were mixed"),
    ("threads_wait", SleepsOn, "slept on while their messages came"),
    ("arguments", SendsAnywhere, "send to rank 3 of 3 did not raise ValueError"),
    ("arguments", TakesAnyHeader, "a header of 65537 bytes did not raise ValueError"),
    ("patience", SaysYes, r"progress\(0\) says True, but nothing had come"),
    ("patience", SaysNo, "progress never said True"),
    ("reuse", KeepsTheBuffer, "overwrote its buffer after send, and the message changed"),
    ("farewell", KeepsTheBuffer, "rank 0 sent 20 messages before close, and 0 came"),
    ("farewell", SilentAboutLosses, r"rank 0 had closed, but lost\(0\) had not come"),
    ("farewell", LosesTwice, r"lost\(0\) was called twice"),
    ("farewell", SendsToTheDead, "send to rank 0, which is lost, did not raise PeerLost"),
    ("close_twice", ClosesOnce, "RuntimeError: already closed"),
    ("close_twice", LivesOn, "progress after close did not raise TransportClosed"),
    ("close_wakes", WakesWithAnother, "waited in progress .* ended with .'OSError: bad file"),
    ("death", SilentAboutLosses, r"rank 2 had died, but lost\(2\) had not come"),
    ("death_in_send", SendsToTheDead, "40 messages were sent to rank 2, which had died"),
]


def test_each_check_is_broken_once() -> None:
    assert {name for name, _, _ in CASES} == set(conformance.CHECKS)


@pytest.mark.parametrize("loses", [False, True])
def test_the_kit_says_what_it_has_tried(loses: bool) -> None:
    """A transport that loses messages is not held to their arrival."""

    class OfItsKind(Broken):
        may_lose = loses

    clock = VirtualClock()
    launch = conformance.in_threads(lambda r, n, _: OfItsKind(QueueTransport(r, n, clock=clock)), clock)
    tried = conformance.check(launch, [1, 2], patience=5.0)
    assert tried == (["missing", "close_twice", "close_wakes"] if loses else [*conformance.CHECKS])


@pytest.mark.parametrize(("name", "broken", "complaint"), CASES)
def test_it_is_caught(name: str, broken: type[Broken], complaint: str) -> None:
    clock = VirtualClock()  # a second of patience is no matter of the machine

    def make(rank: int, world_size: int, folder: str) -> Transport:
        end = broken(QueueTransport(rank, world_size, clock=clock))
        end.folder = folder
        WORLDS[folder][rank] = end
        return end

    line = conformance.CHECKS[name][0]
    with pytest.raises(conformance.NotConforming) as caught:
        conformance.check(conformance.in_threads(make, clock), [3], only=[name], patience=1.0)
    WORLDS.clear()
    assert len(caught.value.complaints) == 1
    caught.match(f"contract line {line}, check '{name}', 3 ranks: rank .*{complaint}")


def test_a_slow_medium_is_not_a_silent_one() -> None:
    """threads_send moves 5.6 MB from each rank. That takes 56 s here, and patience is 10 s."""
    clock = VirtualClock()
    medium.attach(clock, Network(uniform("1s", "100KB/s")))
    launch = conformance.in_threads(lambda r, n, _: SimTransport(r, n, clock=clock), clock)
    conformance.check(launch, [2, 3], only=["threads_send", "interleaved"], patience=10.0)
    assert clock.now() > 56 * PICO


def test_the_complaint_counts_what_came_and_not_what_was_there_when_it_began_to_wait() -> None:
    class StopsAfterFive(Broken):
        sent = 0

        def send(self, dst: int, header: Any, payload: Any) -> None:
            self.sent = mine = self.sent + 1
            self.clock.sleep(1.0)
            if mine <= 5:
                self.inner.send(dst, header, payload)

    clock = VirtualClock()

    def make(rank: int, world_size: int, folder: str) -> Transport:
        return StopsAfterFive(QueueTransport(rank, world_size, clock=clock))

    with pytest.raises(conformance.NotConforming) as caught:
        launch = conformance.in_threads(make, clock)
        conformance.check(launch, [2], only=["threads_send"], patience=5.0)
    caught.match(r"only 5 of 60 messages from rank . had arrived, and nothing came for 5.0 s")


def test_a_stranger_who_gets_in_is_caught() -> None:
    def make(rank: int, world_size: int, folder: str) -> Transport:
        return QueueTransport(rank, world_size)

    def attack(transport: Transport) -> None:
        transport.send(1, b"let me in", b"")

    launch = conformance.in_threads(make)
    with pytest.raises(conformance.NotConforming, match=r"line 7.*a stranger's message was deliv"):
        conformance.check(launch, [2], only=[], stranger=attack)
    conformance.check(launch, [1, 2], only=[], stranger=lambda transport: None)


def test_a_name_that_is_no_check() -> None:
    with pytest.raises(ValueError, match=r"there are no checks \['size'\]; there are connect"):
        conformance.check(lambda size, program: [], only=["size"])


def stop_rank_1(end: conformance.End) -> None:
    if end.rank == 1:
        os.kill(os.getpid(), signal.SIGSTOP)


def queue(rank: int, world_size: int, folder: str) -> QueueTransport:
    return QueueTransport(rank, world_size)


@pytest.mark.slow
def test_a_rank_that_was_stopped_is_not_waited_for_for_ever() -> None:
    with pytest.raises(TimeoutError, match="rank 1 has said nothing for"):
        conformance.in_processes(queue, patience=10.0)(3, stop_rank_1)
