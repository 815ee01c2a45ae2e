"""Ranks that come one by one through a broker: who is let in, who is not, and whose broker it is."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager

import pytest

from tests.transports.brokers import Broker
from transports.clock import SYSTEM
from transports.contract import Sink
from transports.errors import ConnectError, PeerLost
from transports.mqtt import MqttTransport
from transports.mqtt_protocol import frames, newcomers, run_location
from transports.mqtt_protocol.newcomers import OpenExchange
from transports.stores.store import HashStore


class Page:
    """A sink."""

    def __init__(self, done: Callable[[bytes], None]) -> None:
        self._data, self._done = b"", done

    def write(self, piece: memoryview) -> None:
        self._data += bytes(piece)
        self._done(self._data)

    def space(self) -> None:
        return None

    def advance(self, nbytes: int) -> None:
        raise AssertionError("there is no space")


class Desk:
    """An inbox: whatever comes, in order."""

    def __init__(self) -> None:
        self.heard: list[tuple[int, str]] = []

    def sink(self, src: int, header: bytes, nbytes: int) -> Sink:
        return Page(lambda data: self.heard.append((src, data.decode())))

    def lost(self, src: int, reason: Exception) -> None:
        self.heard.append((src, f"lost: {getattr(reason, 'reason', reason)}"))


class End:
    """One rank, and where others reach it."""

    def __init__(self, rank: int, store: HashStore, address: str = "mqtt://") -> None:
        self.rank, self.desk = rank, Desk()
        self.transport = MqttTransport(rank, 1 << 15, address)
        self.card = self.transport.open(store, self.desk)

    @property
    def exchange(self) -> OpenExchange:
        exchange = self.transport._peer_table
        assert isinstance(exchange, OpenExchange)
        return exchange

    def reach(self, other: End) -> None:
        assert self.transport.is_there(other.card)
        self.transport.reach(other.rank, other.card, 300)

    def say(self, other: End, what: str) -> None:
        self.transport.send(other.rank, b"h", what.encode())

    def hear(self, count: int) -> list[tuple[int, str]]:
        """The first so many messages and losses."""
        deadline = SYSTEM.deadline(300)
        while len(self.desk.heard) < count:
            assert not deadline.is_over(), (self.desk.heard, self.transport)
            self.transport.progress(0.1, lambda: len(self.desk.heard) >= count)
        return self.desk.heard


@contextmanager
def world(*ranks: int, store: HashStore | None = None) -> Iterator[list[End]]:
    store = store or HashStore()
    with ExitStack() as stack:
        ends = [End(rank, store) for rank in ranks]
        for end in ends:
            stack.callback(end.transport.close)
        yield ends


def test_who_comes_is_heard_and_hears() -> None:
    with world(0, 7, 3) as (first, second, third):
        with pytest.raises(PeerLost, match="has not come yet"):
            first.say(second, "too early")
        second.reach(first)
        third.reach(first)
        third.reach(second)
        third.say(first, "a")
        assert first.hear(1) == [(3, "a")]
        first.say(third, "b")
        assert third.hear(1) == [(0, "b")]
        second.transport.close()
        assert first.hear(2)[1] == (7, "lost: it closed its transport")
        assert third.hear(2)[1] == (7, "lost: it closed its transport")


def test_another_one_takes_the_place_and_the_old_one_does_not_get_it_back() -> None:
    with world(0, 1, 1) as (first, old, new):
        old.reach(first)
        recorded = frames.seal(
            old.exchange.key,
            frames.Frame(frames.HELLO, 1, 0, old.exchange.mark, first.exchange.mark, seq=99),
        )
        old.say(first, "old")
        assert first.hear(1) == [(1, "old")]
        new.reach(first)
        assert first.hear(2)[1][1].startswith("lost: another one has taken its place")
        first.exchange.heard(f"{first.exchange._base}/d/0/1", bytes(recorded))
        assert first.exchange.peers[1].mark == new.exchange.mark
        new.say(first, "new")
        assert first.hear(3)[2] == (1, "new")
        first.say(new, "you")
        assert new.hear(1) == [(0, "you")]


@pytest.mark.slow
def test_only_the_living_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(newcomers, "SILENCE", 1.0)
    with world(0, 1) as (first, second):
        assert first.transport.is_there(second.card)
        assert first.transport.is_there(second.card)  # as often as one likes
        rank, mark, where = second.card.split(" ", 2)
        assert not first.transport.is_there(f"{rank} {int(mark, 16) ^ 1:x} {where}")
        asked, ask = first.exchange._knocks, first.exchange._send
        answer = frames.Frame(frames.HERE, 9, 0, 77, first.exchange.mark, seq=asked)

        def overheard(kind: int, rank: int, mark: int, number: int) -> None:
            """Somebody says again what was once answered to another question."""
            ask(kind, rank, mark, number)
            data = bytes(frames.seal(first.exchange.key, answer))
            first.exchange.heard(f"{first.exchange._base}/d/0/9", data)

        with monkeypatch.context() as patch:
            patch.setattr(first.exchange, "_send", overheard)
            assert not first.transport.is_there("9 4d elsewhere")
        second.transport.close()
        assert not first.transport.is_there(second.card)
        with pytest.raises(ConnectError, match=r"did not reach rank 1 .* did not answer in"):
            first.transport.reach(1, second.card, 0.5)


def test_garbage_from_anybody_is_not_heard() -> None:
    with world(0) as (first,):
        base = first.exchange._base
        for topic in (f"{base}/d/0/", f"{base}/p/"):
            for src in ("0", "1", "x", "", "²", "9" * 5000, "-1", "1/2"):
                for data in (b"", b"x", bytes(66), bytes(300), b"mq\1\3" + bytes(500)):
                    first.exchange.heard(topic + src, data)
        assert not first.exchange.peers


def test_the_broker_ends_with_the_last_and_the_next_starts_another() -> None:
    store = HashStore()
    for _ in range(3):
        with world(0, 1, store=store) as (first, second):
            second.reach(first)
            second.say(first, "here")
            assert first.hear(1) == [(1, "here")]
            assert first.transport._broker is not None and second.transport._broker is None


def test_the_broker_outlives_who_started_it() -> None:
    store = HashStore()
    with world(0, 1, store=store) as (first, second):
        second.reach(first)
        first.transport.close()
        assert second.hear(1) == [(0, "lost: it closed its transport")]
        third = End(2, store)
        try:
            third.reach(second)
            third.say(second, "here")
            assert second.hear(2)[1] == (2, "here")
        finally:
            third.transport.close()


@pytest.mark.slow
def test_a_broker_that_was_killed_is_replaced() -> None:
    store = HashStore()
    with world(0, store=store) as (first,):
        assert first.transport._broker is not None
        os.kill(first.transport._broker.pid, signal.SIGKILL)
        with world(1, store=store) as (second,):
            assert second.transport._broker is not None


def test_a_broker_of_another_host_is_not_tried(monkeypatch: pytest.MonkeyPatch) -> None:
    store = HashStore()
    with world(0, store=store):
        monkeypatch.setattr(run_location.socket, "gethostname", lambda: "elsewhere")
        with pytest.raises(ConnectError, match=r"Name a broker that all reach: mqtt://host:port"):
            End(1, store)


def test_a_broker_of_ones_own() -> None:
    broker, store = Broker("embedded"), HashStore()
    try:
        first, second = End(0, store, broker.address), End(1, store, broker.address)
        second.reach(first)
        second.say(first, "here")
        assert first.hear(1) == [(1, "here")]
        second.transport.close()
        first.transport.close()
    finally:
        broker.stop()
