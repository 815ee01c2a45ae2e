"""What is special about a store behind a broker; what all stores do alike is in `test_stores`."""

from __future__ import annotations

import multiprocessing
import threading
from collections.abc import Iterator
from typing import Any

import pytest

from tests.ports import free_port
from tests.transports.brokers import KINDS, Broker, Client, Proxy, together
from transports import keys
from transports.channel.keeper import MAX_BODY
from transports.channel.store import MQTTStore
from transports.errors import DistNetworkError, DistStoreError, NotLetIn


@pytest.fixture(params=KINDS)
def broker(request: pytest.FixtureRequest) -> Iterator[Broker]:
    made = Broker(request.param)
    yield made
    made.stop()


@pytest.mark.slow
def test_each_command_is_carried_out_once_whatever_the_broker_does(broker: Broker) -> None:
    """It is killed twice, and connections are cut, while ranks count."""
    proxy = Proxy(broker)
    stores = [
        MQTTStore(broker.address, 0),
        MQTTStore(broker.address, 1),
        MQTTStore(proxy.address, 2),
    ]

    def count(store: MQTTStore) -> None:
        for turn in range(200):
            store.add("n", 1)
            store.append("text", ".")
            if store.rank == 2 and turn % 60 == 30:
                proxy.cut()
            if store.rank == 1 and turn in (50, 130):
                broker.kill()
                broker.start()

    together(*(lambda s=store: count(s) for store in stores))  # type: ignore[misc]
    assert {store.get("n") for store in stores} == {b"600"}
    assert stores[2].get("text") == b"." * 600
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
    keeper = MQTTStore(broker.address, 0)
    keeper.set("k", "v")
    thread.join()
    keeper.close()
    assert got == [b"v"]


def test_nobody_keeps_it(broker: Broker) -> None:
    with pytest.raises(DistNetworkError, match=r"nobody keeps a store named 'job'.*Rank 0 does"):
        MQTTStore(f"{broker.address}/job", 1, timeout=0.8)


@pytest.mark.parametrize("rank", [0, 1])
def test_no_broker(rank: int) -> None:
    with pytest.raises(DistNetworkError, match=r"refused.*Does a broker listen there"):
        MQTTStore(f"mqtt://127.0.0.1:{free_port()}", rank, timeout=0.8)
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
    keeper, asker = MQTTStore(broker.address, 0), MQTTStore(broker.address, 1)
    other = asker.clone()
    waiting = threading.Thread(target=keeper.close)
    with pytest.raises(DistNetworkError, match="rank 0 closed it"):
        waiting.start()
        asker.get("never")
    waiting.join()
    asker.close()
    with pytest.raises(DistNetworkError, match="rank 0 closed it"):
        other.num_keys()
    other.close()
    for store in (keeper, asker, other):
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
    keeper = MQTTStore(broker.address, 0)
    with pytest.raises(DistNetworkError, match=r"began anew|has ended"):
        second.get("k")
    for store in (asker, second, keeper):
        store.close()


def test_what_strangers_repeat_is_not_carried_out(broker: Broker) -> None:
    with Client(broker, "stranger") as stranger:
        stranger.subscribe(("mtd/#", 0))
        keeper, asker = MQTTStore(broker.address, 0), MQTTStore(broker.address, 1)
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
                assert (keeper.get("n"), keeper.queue_len("q")) == (b"5", 5)
                keeper.close()  # and what was said to it is nothing to the next one
                keeper = MQTTStore(broker.address, 0)
        other = MQTTStore(broker.address, 1)
        assert other.num_keys() == 0
        other.close()
        keeper.close()


def test_what_is_too_long_for_a_broker(broker: Broker) -> None:
    keeper, asker = MQTTStore(broker.address, 0), MQTTStore(broker.address, 1)
    with pytest.raises(DistStoreError, match="small values"):
        asker.set("k", bytes(MAX_BODY))
    asker.set("k", bytes(MAX_BODY - 1000))
    asker.set("l", bytes(MAX_BODY - 1000))
    assert len(asker.get("k")) == MAX_BODY - 1000
    with pytest.raises(DistStoreError, match="an answer of"):
        asker.multi_get(["k", "l"])
    assert asker.num_keys() == 2
    assert repr(asker) == f"<MQTTStore {broker.address}, <Inquirer of 0 open questions>>"
    assert repr(keeper) == f"<MQTTStore {broker.address}, <Keeper of 2 keys for 1 askers>>"
    asker.close()
    keeper.close()
