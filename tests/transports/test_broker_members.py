"""A client that holds the password costs a broker what its bytes are worth, and costs the others little time."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Iterator
from contextlib import suppress
from random import Random

import pytest
from hypothesis import given, strategies as st

from tests.transports.broker_members import ATTACKS, MqttAttack, cost_of
from tests.transports.brokers import matches
from tests.transports.members import PATIENCE
from transports.broker import launch, outbox, packets, topics
from transports.broker.credentials import credentials
from transports.broker.outbox import Outbox
from transports.broker.packets import Malformed, PublishedMessage
from transports.broker.retained import Retained
from transports.broker.router import LOOKS, Router


@pytest.fixture(scope="module")
def of_all() -> Iterator[tuple[launch.BrokerProcess, tuple[str, str]]]:
    with launch.start() as broker:
        yield broker, credentials()


SCALE = {"deep_filters": 0.5, "pings_in_a_row": 0.1, "take_nothing": 0.5}


@pytest.mark.parametrize("attack", ATTACKS, ids=lambda one: one.__name__)
def test_a_client_costs_what_its_bytes_are_worth(
    attack: MqttAttack, of_all: tuple[launch.BrokerProcess, tuple[str, str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    broker, known = of_all
    monkeypatch.setattr("tests.transports.broker_members.credentials", lambda: known)
    port = int(broker.address.rpartition(":")[2])
    bill = cost_of(attack, port, broker.pid, Random(1), SCALE.get(attack.__name__, 0.3))
    assert broker.is_alive() and bill.is_fair, bill
    assert bill.slowest < PATIENCE


NAMES = st.lists(st.sampled_from(["a", "b", "", "+", "#", "$x"]), min_size=1, max_size=4).map("/".join)


@given(st.lists(NAMES.filter(topics.is_filter), max_size=12), st.lists(NAMES, max_size=5))
def test_the_tree_finds_the_filters_that_match(filters: list[str], wanted: list[str]) -> None:
    found: topics.Subscriptions[str] = topics.Subscriptions()
    for name in filters:
        found.add(name, name, 0)
    for topic in wanted:
        if topic and "+" not in topic and "#" not in topic:
            expected = {name for name in filters if matches(name, topic)}
            assert set(found.readers(topic)) == expected == set(found.readers(topic))
    for name in filters:
        found.remove(name, name)
        found.remove(name, f"{name}/not there")
    assert not found.root, "nothing is left of them"


def test_a_filter_may_not_be_as_deep_as_one_likes() -> None:
    assert topics.is_filter("/".join("+" * topics.DEEPEST))
    assert not topics.is_filter("/".join("+" * (topics.DEEPEST + 1)))
    deep = "/".join("a" * 200)
    assert matches("a/+/#", deep) and not matches("a/+", deep)
    found: topics.Subscriptions[int] = topics.Subscriptions()
    found.add(1, "a/#", 0)
    found.add(2, "/".join("+" * topics.DEEPEST), 0)
    assert found.readers(deep) == {1: 0}
    assert found.readers("/".join("a" * topics.DEEPEST)) == {1: 0, 2: 0}


@pytest.mark.parametrize("first", [0x82, 0xA2])
def test_a_packet_with_more_filters_than_anybody_may_have(first: int) -> None:
    one = b"\0\1a\0" if first == 0x82 else b"\0\1a"
    packets.decode(first, b"\0\1" + one * packets.MAX_FILTERS)
    with pytest.raises(Malformed, match="more than"):
        packets.decode(first, b"\0\1" + one * (packets.MAX_FILTERS + 1))


class Reader(Outbox):
    """It keeps what it is sent."""

    def __init__(self) -> None:
        self.pieces: list[bytes] = []

    def say(self, sender: object, *pieces: bytes) -> None:
        self.pieces += pieces

    async def room(self, sender: object) -> None: ...

    def next_number(self) -> int:
        return 1


def test_a_long_payload_is_in_memory_once() -> None:
    """However many readers it has, and with which quality of service; retained or not."""
    router, payload = Router(), bytes(100_000)
    readers = [Reader() for _ in range(5)]

    async def run() -> None:
        for number, reader in enumerate(readers[:4]):
            await router.subscribe(reader, "a/#", number % 2)
        await router.publish(PublishedMessage("a/b", payload, 1, True))
        await router.subscribe(readers[4], "a/+", 1)

    asyncio.run(run())
    for reader in readers:
        assert len(reader.pieces) == 2 and reader.pieces[1] is payload


def test_retained_messages_are_looked_for_in_parts() -> None:
    """Other tasks go on in between, and an older message does not come behind a newer one."""
    router, reader, turns = Router(), Reader(), 0

    async def others() -> None:
        nonlocal turns
        while True:
            turns += 1
            await router.publish(PublishedMessage("k/7/x", b"new", 0, True))
            await asyncio.sleep(0)

    async def run() -> None:
        for number in range(LOOKS * 6):
            await router.publish(PublishedMessage(f"k/{number}/x", b"old", 0, True))
        beside = asyncio.ensure_future(others())
        await router.subscribe(reader, "+/+/nothing", 0)
        assert turns >= 5 and not reader.pieces
        await router.subscribe(reader, "+/7/#", 0)
        beside.cancel()
        with suppress(asyncio.CancelledError):
            await beside

    asyncio.run(run())
    said = [piece[-3:] for piece in reader.pieces]
    assert said and set(said) == {b"new"}


@given(st.lists(NAMES, max_size=12), st.lists(NAMES.filter(topics.is_filter), max_size=5))
def test_the_retained_ones_that_match_are_found(kept: list[str], filters: list[str]) -> None:
    made, there = Retained(), dict[str, PublishedMessage]()
    for number, topic in enumerate(kept):
        if topic and "+" not in topic and "#" not in topic:
            message = PublishedMessage(topic, b"x" * (number % 3), 0, True)
            made.keep(message)
            there.pop(topic, None)
            if message.payload:
                there[topic] = message
    for name in filters:
        found = [message for message in made.find(name) if message is not None]
        assert sorted(found) == sorted(m for t, m in there.items() if matches(name, t))
    for topic in there:
        made.keep(PublishedMessage(topic, b"", 0, True))
    assert not len(made) and not made._nbytes, "nothing is left of them"


def test_a_deep_topic_can_be_retained() -> None:
    made, deep = Retained(), PublishedMessage("/".join("a" * 30_000), b"x", 0, True)
    made.keep(deep)
    assert [m for m in made.find("a/+/#") if m] == [deep]
    assert not any(made.find("a/b/#")) and not any(made.find("+/+"))
    assert sum(1 for _ in made.find("#")) <= topics.DEEPEST + 2


async def an_outbox(most: int) -> tuple[Outbox, socket.socket, asyncio.StreamWriter]:
    ours, theirs = socket.socketpair()
    theirs.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 1 << 12)
    ours.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1 << 12)
    ours.setblocking(False)
    _, writer = await asyncio.open_connection(sock=theirs)
    return Outbox(writer, most), ours, writer


@pytest.mark.parametrize("sizes", [[1], [10, 100_000, 0, 3, 70_000], [5] * 500, [300_000] * 3])
def test_all_comes_in_order(sizes: list[int]) -> None:
    async def run() -> None:
        box, ours, writer = await an_outbox(1 << 20)
        sent = [bytes([number % 251]) * size for number, size in enumerate(sizes)]
        for piece in sent:
            box.say("one", piece[:1], piece[1:])
        heard, loop = bytearray(), asyncio.get_running_loop()
        while len(heard) < sum(sizes):
            heard += await loop.sock_recv(ours, 1 << 16)
        assert heard == b"".join(sent) and not box._nbytes
        writer.close()
        ours.close()

    asyncio.run(run())


@pytest.mark.parametrize("seconds", [1.0, 3.0])
def test_who_takes_next_to_nothing_is_too_slow(seconds: float) -> None:
    """One that is behind, and takes enough, is not. Its senders wait meanwhile, and no longer than that."""

    async def run() -> None:
        box, ours, writer = await an_outbox(100_000)
        assert not box.is_too_slow(0.0)
        for _ in range(10):
            box.say("one", bytes(100_000))
        waits = asyncio.ensure_future(box.room("one"))
        await asyncio.sleep(0)
        assert not box.is_too_slow(seconds)
        loop, taken = asyncio.get_running_loop(), 0
        while taken < 1.1 * outbox.SLOWEST * outbox.STALL:
            taken += len(await loop.sock_recv(ours, 1 << 16))
        assert not box.is_too_slow(seconds + outbox.STALL), "it took enough"
        assert not box.is_too_slow(seconds + 1.9 * outbox.STALL) and not waits.done()
        assert box.is_too_slow(seconds + 2 * outbox.STALL)
        box.forget()
        await waits
        writer.transport.abort()
        ours.close()

    asyncio.run(run())


@pytest.mark.parametrize("senders", [1, 2, 5])
def test_a_flood_holds_up_its_own_sender(senders: int) -> None:
    """A message of another one comes behind one of each flooding sender, and its sender does not wait."""

    async def run() -> None:
        box, ours, writer = await an_outbox(1 << 20)
        for _ in range(400):
            for number in range(senders):
                box.say(f"flood {number}", b"x" * 5000)
        waits = asyncio.ensure_future(box.room("flood 0"))
        await asyncio.sleep(0)
        box.say("honest", b"honest")
        await box.room("honest")
        assert not waits.done()
        heard, loop = bytearray(), asyncio.get_running_loop()
        near = outbox.NEAR + 5000 + box._transport.get_write_buffer_size() + (1 << 16)
        while b"honest" not in heard:
            heard += await loop.sock_recv(ours, 1 << 12)
        assert len(heard) <= near + senders * 5000, "it did not wait for the others' lines"
        box.forget()
        await waits
        writer.transport.abort()
        ours.close()

    asyncio.run(run())


@pytest.mark.parametrize("nbytes", [1 << 16, 5_000_000])
def test_a_long_message_is_handed_over_a_little_at_a_time(nbytes: int) -> None:
    """The writer keeps a copy of what the system does not take, so it gets little of it."""

    async def run() -> None:
        box, ours, writer = await an_outbox(1 << 20)
        for _ in range(3):
            box.say("one", b"head", bytes(nbytes))
        for _ in range(20):
            await asyncio.sleep(0)
        assert box._transport.get_write_buffer_size() <= 2 * outbox.NEAR + 100
        heard, loop = 0, asyncio.get_running_loop()
        while heard < 3 * (nbytes + 4):
            heard += len(await loop.sock_recv(ours, 1 << 20))
        writer.transport.abort()
        ours.close()

    asyncio.run(run())
