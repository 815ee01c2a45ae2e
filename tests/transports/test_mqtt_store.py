"""What is special about a store behind a broker; what all stores do alike is in `test_stores`."""

from __future__ import annotations

import multiprocessing
import threading
from collections.abc import Iterator
from typing import Any

import pytest

from tests.patience import told_in_time
from tests.ports import free_port
from tests.transports.brokers import KINDS, Broker, Client, Proxy, together
from transports import frames, keys
from transports.clock import SystemClock, picoseconds
from transports.errors import DistNetworkError, DistStoreError, NotLetIn
from transports.mqtt_protocol import address as addresses, frames as frames_of_mqtt
from transports.mqtt_protocol.connection import TICK, Connection, Publication
from transports.mqtt_protocol.store import MQTTStore
from transports.mqtt_protocol.store_client import MqttStoreClient
from transports.mqtt_protocol.store_end import MAX_BODY
from transports.mqtt_protocol.store_server import CALLS, MqttStoreServer
from transports.stores import key_values, protocol


@pytest.fixture(params=KINDS)
def broker(request: pytest.FixtureRequest) -> Iterator[Broker]:
    made = Broker(request.param)
    yield made
    made.stop()


@pytest.mark.slow
def test_each_command_is_carried_out_once_whatever_the_broker_does(broker: Broker) -> None:
    """It is killed twice, and connections are cut, while ranks count."""
    proxy = Proxy(broker)
    stores = [MQTTStore(broker.address, 0), MQTTStore(broker.address, 1), MQTTStore(proxy.address, 2)]

    def count(store: MQTTStore) -> None:
        for turn in range(200):
            store.add("n", 1)
            store.queue_push("turns", ".")
            if store.rank == 2 and turn % 60 == 30:
                proxy.cut()
            if store.rank == 1 and turn in (50, 130):
                broker.kill()
                broker.start()

    together(*(lambda s=store: count(s) for store in stores))  # type: ignore[misc]
    assert {store.get("n") for store in stores} == {b"600"}
    assert stores[2].queue_len("turns") == 600
    for store in reversed(stores):
        store.close()
    proxy.close()


def test_who_comes_first_waits_for_the_keeper(broker: Broker) -> None:
    got = list[bytes]()

    def ask() -> None:
        store = MQTTStore(broker.address, 1)
        got.append(store.get("k"))
        store.close()

    thread = threading.Thread(target=ask)
    thread.start()
    store_server = MQTTStore(broker.address, 0)
    store_server.set("k", "v")
    thread.join()
    store_server.close()
    assert got == [b"v"]


def test_nobody_keeps_it(broker: Broker) -> None:
    told_in_time(
        DistNetworkError,
        r"nobody keeps a store named 'job'.*Rank 0 does",
        lambda seconds: MQTTStore(f"{broker.address}/job", 1, timeout=seconds),
    )


@pytest.mark.parametrize("rank", [0, 1])
def test_no_broker(rank: int) -> None:
    address = f"mqtt://127.0.0.1:{free_port()}"
    told_in_time(
        DistNetworkError,
        r"refused.*Does a broker listen there",
        lambda seconds: MQTTStore(address, rank, timeout=seconds),
    )
    with pytest.raises(ValueError, match="names no broker"):
        MQTTStore("mqtt://", rank)


@pytest.mark.parametrize("rank", [0, 1])
def test_the_wrong_key(broker: Broker, monkeypatch: pytest.MonkeyPatch, rank: int) -> None:
    monkeypatch.setenv(keys.VARIABLE, "another key")
    with pytest.raises(NotLetIn, match=r"does not let us in.*MINITORCH_DIST_KEY"):
        MQTTStore(broker.address, rank)


def test_names_keep_jobs_apart_and_one_name_has_one_keeper(broker: Broker) -> None:
    first, second = MQTTStore(f"{broker.address}/a", 0), MQTTStore(f"{broker.address}/b", 0)
    asker = MQTTStore(f"{broker.address}/b", 1)
    first.set("k", "of a")
    assert asker.num_keys() == 0
    with pytest.raises(DistNetworkError, match=r"somebody else keeps a store named 'a'.*/NAME"):
        MQTTStore(f"{broker.address}/a", 0)
    assert first.get("k") == b"of a"
    for store in (asker, second, first):
        store.close()
    with Client(broker, "curious") as curious:  # and nothing is left at the broker
        curious.subscribe(("#", 1))
        curious.synchronize()


def test_a_keeper_that_leaves_says_so(broker: Broker) -> None:
    store_server, asker = MQTTStore(broker.address, 0), MQTTStore(broker.address, 1)
    waiting = threading.Thread(target=store_server.close)
    with pytest.raises(DistNetworkError, match="rank 0 closed it"):
        waiting.start()
        asker.get("never")
    waiting.join()
    with pytest.raises(DistNetworkError, match="rank 0 closed it"):
        asker.num_keys()
    for store in (store_server, asker):
        store.close()
        with pytest.raises(DistStoreError, match="closed"):
            store.num_keys()


def keep(address: str, ready: Any) -> None:
    store = MQTTStore(address, 0)
    store.set("k", "v")
    ready.set()
    threading.Event().wait()


@pytest.mark.slow
def test_a_keeper_that_dies_and_another_that_begins_anew(broker: Broker) -> None:
    context = multiprocessing.get_context("spawn")
    ready = context.Event()
    process = context.Process(target=keep, args=(broker.address, ready))
    process.start()
    ready.wait(60)
    asker, second = MQTTStore(broker.address, 1), MQTTStore(broker.address, 2)
    assert asker.get("k") == b"v"
    process.kill()
    process.join()
    process.close()
    with pytest.raises(DistNetworkError, match="has ended or stands still"):
        asker.get("never")
    store_server = MQTTStore(broker.address, 0)
    with pytest.raises(DistNetworkError, match=r"began anew|has ended"):
        second.get("k")
    for store in (asker, second, store_server):
        store.close()


def test_what_strangers_repeat_is_not_carried_out(broker: Broker) -> None:
    with Client(broker, "stranger") as stranger:
        stranger.subscribe(("mtd/#", 0))
        store_server, asker = MQTTStore(broker.address, 0), MQTTStore(broker.address, 1)
        for _ in range(5):
            asker.add("n", 1)
            asker.queue_push("q", "x")
        asker.close()
        stranger.publish("mtd/end", b"")
        recorded = []
        while (message := stranger.message())[0] != "mtd/end":
            recorded.append(message)
        for turn in range(2):
            for topic, payload, *_ in recorded:
                if turn == 0 or "/owner" not in topic:
                    stranger.publish(topic, payload)
                    stranger.publish("mtd/default/s/ask", payload)
                    stranger.publish("mtd/default/s/ask", b"garbage" + payload)
            stranger.publish("mtd/said", b"")
            while stranger.message()[0] != "mtd/said":
                pass
            if turn == 0:
                assert (store_server.get("n"), store_server.queue_len("q")) == (b"5", 5)
                store_server.close()  # and what was said to it is nothing to the next one
                store_server = MQTTStore(broker.address, 0)
        other = MQTTStore(broker.address, 1)
        assert other.num_keys() == 0
        other.close()
        store_server.close()


def test_what_is_too_long_for_a_broker(broker: Broker) -> None:
    store_server, asker = MQTTStore(broker.address, 0), MQTTStore(broker.address, 1)
    with pytest.raises(DistStoreError, match="small values"):
        asker.set("k", bytes(MAX_BODY))
    asker.set("k", bytes(MAX_BODY - 1000))
    asker.set("l", bytes(MAX_BODY - 1000))
    assert len(asker.get("k")) == MAX_BODY - 1000
    with pytest.raises(DistStoreError, match="too many for a store"):
        asker.multi_get(["k", "l"])
    assert asker.num_keys() == 2
    asker.close()
    store_server.close()


class Odd(MQTTStore):
    """Says a command as it is given."""

    def say(self, *fields: bytes) -> None:
        end = self._end
        assert isinstance(end, MqttStoreClient)
        with end.changed:
            number, end._number = end._number, end._number + 1
            end._ask(number, protocol.pack(fields)[frames.LENGTH :])
            del end._asked[number]


@pytest.mark.parametrize(
    "fields",
    [
        (b"get", b"1e308", b"1", b"nothing"),
        (b"get", b"nan", b"1", b"nothing"),
        (b"get", b"", b"1", b"k"),
        (b"append", b"0", b"0"),
        (b"get", b"0", b"7", b"k"),
        (b"get", b"0", b"9" * 5000, b"k"),
        (b"\xff", b"0", b"0"),
        (b"set", b"0", b"1", b"\xff", b"v"),
        (b"check",),
        (),
        (b"x" * 100_000, b"0", b"0"),
        (b"queue_pop", b"-inf", b"1", b"k"),
        (b"check", b"0", b"1", b"k"),
    ],
)
def test_an_odd_command_is_of_no_concern_to_others(fields: tuple[bytes, ...], monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: Any) -> list[bytes]:
        raise ZeroDivisionError("what nobody has foreseen")

    monkeypatch.setitem(key_values.OPERATIONS, "check", broken)
    broker = Broker(KINDS[0])
    stores = [MQTTStore(broker.address, 0), Odd(broker.address, 1), MQTTStore(broker.address, 2)]
    odd = stores[1]
    assert isinstance(odd, Odd)
    odd.say(*fields)
    assert stores[2].add("n", 1) == 1 and stores[0].add("n", 1) == 2 and odd.add("n", 1) == 3
    for store in reversed(stores):
        store.close()
    broker.stop()


class StoppedClock(SystemClock):
    """Its time is set by hand."""

    seconds = 0.0

    def now(self) -> int:
        return picoseconds(self.seconds)


class HandMadeServer:
    """A store server whose broker is this test: it echoes what was posted when it is told to."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.clock, self.posted = StoppedClock(), list[Publication]()
        monkeypatch.setattr(Connection, "post", lambda _, post: self.posted.append(post))
        monkeypatch.setenv(keys.VARIABLE, "a key")
        place = addresses.parse("mqtt://127.0.0.1:1/a")
        self.server = MqttStoreServer(place, "a", 1, self.clock)
        self.rival = MqttStoreServer(place, "a", 2, self.clock)
        self.rival._post_life(frames_of_mqtt.PRESENT)
        self.retained = self.posted.pop()
        self.server.up()

    def hear(self, post: Publication) -> None:
        self.server.heard(post.topic, bytes(post.payload))

    def pass_time(self, seconds: float) -> None:
        for _ in range(round(seconds / TICK)):
            self.clock.seconds += TICK
            self.server.tick()

    def is_alone(self) -> bool:
        return self.server._is_alone

    def close(self) -> None:
        for each in (self.server, self.rival):
            each._connection.close()


def test_a_broker_that_stands_still_does_not_make_two_keepers(monkeypatch: pytest.MonkeyPatch) -> None:
    """Time counts only where the broker has passed our questions on."""
    made = HandMadeServer(monkeypatch)
    made.hear(made.retained)
    made.pass_time(60)  # no echo: the broker is stopped, and the other may live
    assert not made.is_alone() and len(made.posted) == 2
    for post in list(made.posted):
        made.hear(post)
    made.pass_time(1)  # it asked again, and this is not echoed either
    assert not made.is_alone() and len(made.posted) == 3
    made.pass_time(60)
    assert not made.is_alone()
    made.hear(made.retained)  # the other one has answered
    assert "somebody else keeps a store named 'a'" in str(made.server._problem)
    made.close()


def test_a_keeper_that_answers_no_question_is_replaced(monkeypatch: pytest.MonkeyPatch) -> None:
    made = HandMadeServer(monkeypatch)
    made.hear(made.retained)
    heard = 0
    while not made.is_alone():
        assert heard < len(made.posted), "it asks again, or takes the place"
        made.hear(made.posted[heard])
        heard += 1
        made.pass_time(1)
    assert heard == CALLS and not made.server._problem
    made.close()


def test_a_server_that_has_closed_claims_its_name_no_more(monkeypatch: pytest.MonkeyPatch) -> None:
    """Somebody asks whether it lives while it leaves: an answer would stay at the broker for ever."""
    made = HandMadeServer(monkeypatch)
    made.hear(made.posted[-1])
    assert made.is_alone()
    made.rival._post_life(frames_of_mqtt.HELLO)
    question = made.posted[-1]
    made.server.close()
    made.hear(question)
    made.server.up()
    lasting = [post for post in made.posted if post.retain]
    assert lasting[-1].payload == b"" and made.posted[-1] is lasting[-1]
    made.rival._connection.close()
