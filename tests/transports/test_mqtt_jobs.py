"""Two jobs at one broker, and clients that come with another one's identifier."""

from __future__ import annotations

import asyncio
import os
import threading
from collections.abc import Iterator

import pytest

from tests.transports.brokers import KEY, KINDS, Broker, Client, Proxy, connect_packet, together
from tests.transports.test_jobs import APART, TOGETHER, one_of
from transports import keys
from transports.broker import identifiers, launch, packets
from transports.broker.credentials import OWNER, OWNER_KEY, credentials, owner_password
from transports.broker.server import BrokerServer
from transports.broker.session import House
from transports.errors import DistNetworkError, OtherJob
from transports.job import JobCard
from transports.mqtt_protocol.store import MQTTStore


@pytest.fixture(params=KINDS)
def broker(request: pytest.FixtureRequest) -> Iterator[Broker]:
    made = Broker(request.param)
    yield made
    made.stop()


def test_launched_jobs_share_a_broker_and_a_name(broker: Broker) -> None:
    """They never meet, and none is refused."""
    jobs = [one_of("a"), one_of("b"), one_of()]
    stores = together(*(lambda of=of: MQTTStore(broker.address, 0, of=of) for of in jobs))  # type: ignore[misc]
    askers = together(*(lambda of=of: MQTTStore(broker.address, 1, of=of) for of in jobs))  # type: ignore[misc]
    for number, store in enumerate(stores):
        store.set("k", f"{number}")
    assert [asker.get("k") for asker in askers] == [b"0", b"1", b"2"]
    for store in [*askers, *stores]:
        store.close()


@pytest.mark.parametrize("name", ["two scripts by hand", "two sizes by hand"])
def test_jobs_that_were_started_by_hand_are_told_apart(broker: Broker, name: str) -> None:
    one, other = APART[name]
    store = MQTTStore(broker.address, 0, of=one)
    store.set("k", "v")
    for rank in (0, 1):
        with pytest.raises(OtherJob) as caught:
            MQTTStore(broker.address, rank, timeout=120, of=other)
        assert str(one) in str(caught.value) and str(other) in str(caught.value)
    asker = MQTTStore(broker.address, 1, of=TOGETHER["by hand"][1])
    assert asker.get("k") == b"v"
    asker.close()
    store.close()


def test_a_second_rank_0_is_told_who_is_there(broker: Broker) -> None:
    store = MQTTStore(broker.address, 0, of=one_of())
    with pytest.raises(DistNetworkError) as caught:
        MQTTStore(broker.address, 0, timeout=120, of=one_of(pid=2))
    assert str(one_of()) in str(caught.value) and str(one_of(pid=2)) in str(caught.value)
    store.close()


# --------------------------------------------------------------------------------------- identifiers


def test_an_identifier_holds_its_proof() -> None:
    whole, name = identifiers.draw()
    assert identifiers.named(whole) == (name, True) and identifiers.draw()[0] != whole
    for other in (name, whole[:-1], whole[:-1] + "x", whole.upper(), name + 16 * "0", "c", ""):
        assert identifiers.named(other) == (other, False)
    assert whole.isalnum()


@pytest.fixture
def class_broker(monkeypatch: pytest.MonkeyPatch) -> Iterator[Broker]:
    """One with an owner, as a class has it."""
    monkeypatch.setenv(keys.VARIABLE, KEY)
    made = Broker.__new__(Broker)
    made.kind, made.username = "embedded", ""
    environment = {**os.environ, OWNER_KEY: "secret"}
    with launch.start("--private", "mtd/class/s", environment=environment) as process:
        made.port = int(process.address.rpartition(":")[2])
        made.username, made.password = credentials()
        yield made


OWN = {"name": OWNER, "password": owner_password("secret")}
REFUSED = (0x20, bytes([0, packets.BAD_IDENTIFIER]))


def test_a_pupil_does_not_push_out_the_owner(class_broker: Broker) -> None:
    with Client(class_broker, "same", **OWN) as owner:
        for _ in range(3):
            pupil = Client(class_broker, "same")
            assert pupil.hear() == REFUSED and pupil.is_closed()
            pupil.leave()
            owner.synchronize()
        with Client(class_broker, "same", **OWN) as again:  # it lost its network, and has come back
            assert owner.is_closed()
            again.synchronize()
    with Client(class_broker, "same") as pupil:  # the name is nobody's now
        pupil.synchronize()
        with Client(class_broker, "same", **OWN) as owner:
            assert pupil.is_closed()
            owner.synchronize()


def test_a_pupil_does_not_push_out_another(class_broker: Broker) -> None:
    """Its identifier is its own secret, from the first time it comes."""
    whole, name = identifiers.draw()
    with Client(class_broker, whole, will=("w", b"gone", 0, False)) as pupil:
        for identifier in (name, name):
            thief = Client(class_broker, identifier)
            assert thief.hear() == REFUSED and thief.is_closed()
            thief.leave()
        with Client(class_broker, name + 16 * "0") as other:  # another client, as it seems
            other.synchronize()
            pupil.synchronize()
        with Client(class_broker, whole) as again:
            assert pupil.is_closed()
            again.synchronize()
    with Client(class_broker, name) as squatter, Client(class_broker, whole) as back:
        assert squatter.is_closed()
        back.synchronize()


def test_members_of_a_class_hold_on(class_broker: Broker) -> None:
    """Somebody comes with each identifier of which anything can be known, while host and pupils work."""
    address = f"127.0.0.1:{class_broker.port}/class"
    host = MQTTStore(f"mqtt://{OWNER}:{OWN['password']}@{address}", 0)
    pupils = [MQTTStore(f"mqtt://{address}", rank) for rank in (1, 2)]
    over = threading.Event()
    opened = list[int]()

    def steal() -> None:
        while not over.is_set():
            for store in (host, *pupils):
                for identifier in (f"mtd{store.mark:016x}", store._end._connection.identifier):
                    thief = Client(class_broker, identifier)
                    opened.append(thief.hear()[1][1])
                    thief.leave()

    thread = threading.Thread(target=steal)
    thread.start()
    try:
        ups = [store._end._connection for store in (host, *pupils)]
        for turn in range(60):
            for pupil in pupils:
                assert pupil.add("n", 1)
            assert all(each.is_up for each in ups), turn
        while len(opened) < 12:
            assert thread.is_alive()
            over.wait(0.01)
    finally:
        over.set()
        thread.join()
    assert host.get("n") == b"120" and set(opened) == {packets.ACCEPTED, packets.BAD_IDENTIFIER}
    for store in (*pupils, host):
        store.close()


def test_pupils_who_take_all_places_do_not_keep_the_owner_out() -> None:
    async def come() -> list[bytes]:
        house = House("mtd", b"word", owner_password=b"own", max_clients=1)
        server = BrokerServer(house)
        await server.start("127.0.0.1", 0)
        running = asyncio.create_task(server.run())
        answers, writers = [], []
        for who, password in (("mtd", "word"), ("mtd", "word"), (OWNER, "own")):
            reader, writer = await asyncio.open_connection("127.0.0.1", server.port)
            writer.write(connect_packet(f"{len(answers)}", who, password))
            answers.append(await reader.read(4))
            writers.append(writer)
        for writer in writers:
            writer.close()
        server.stop()
        await running
        return answers

    assert asyncio.run(come()) == [b"\x20\x02\0\0", b"", b"\x20\x02\0\0"]


def test_a_laptop_that_lost_its_network_comes_back(broker: Broker) -> None:
    proxy = Proxy(broker)
    store, asker = MQTTStore(broker.address, 0), MQTTStore(proxy.address, 1)
    for turn in range(4):
        assert asker.add("n", 1) == turn + 1
        proxy.cut()
    assert store.get("n") == b"4"
    asker.close()
    store.close()
    proxy.close()


def test_of_servers_that_come_at_once_one_keeps_the_store(broker: Broker) -> None:
    """The other one is refused, and a later asker is answered by the first."""
    jobs = APART["two scripts by hand"]
    for _ in range(20):
        kept, refused, begin = list[MQTTStore](), list[OtherJob](), threading.Barrier(2)

        def come(of: JobCard) -> None:
            begin.wait(60)  # noqa: B023 - the threads end within the turn
            try:
                kept.append(MQTTStore(broker.address, 0, timeout=60, of=of))  # noqa: B023
            except OtherJob as error:
                refused.append(error)  # noqa: B023

        threads = [threading.Thread(target=come, args=(of,)) for of in jobs]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(120)
        assert (len(kept), len(refused)) == (1, 1)
        winner = next(of for of in jobs if str(of) not in str(refused[0]).partition(" This rank's job is ")[2])
        asker = MQTTStore(broker.address, 1, timeout=60, of=winner)
        kept[0].set("k", "v")
        assert asker.get("k") == b"v"
        asker.close()
        kept[0].close()
