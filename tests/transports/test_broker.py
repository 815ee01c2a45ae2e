"""The embedded broker and mosquitto do the same; and hostile bytes change nothing."""

from __future__ import annotations

import os
import socket
import time
from collections.abc import Iterator
from contextlib import suppress
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given, strategies as st

from tests.transports.brokers import KEY, KINDS, Broker, Client, connect_packet, matches, text
from transports import keys
from transports.broker import launch, packets, topics
from transports.broker.credentials import OWNER, OWNER_KEY, credentials, owner_password
from transports.broker.packets import Malformed, PublishedMessage
from transports.broker.rules import AccessRules
from transports.errors import DistNetworkError

BYTES = st.binary(max_size=60)
LEVELS = st.sampled_from(["a", "b", "", "+", "#", "$x", "ü"])
NAMES = st.lists(LEVELS, min_size=1, max_size=4).map("/".join)


@pytest.fixture(scope="module", params=KINDS)
def broker(request: pytest.FixtureRequest) -> Iterator[Broker]:
    made = Broker(request.param)
    yield made
    made.stop()


@pytest.fixture(scope="module")
def embedded() -> Iterator[Broker]:
    made = Broker("embedded")
    yield made
    made.stop()


# -- bytes and names ------------------------------------------------------------------------


@given(st.integers(0, 255), BYTES)
def test_any_bytes_are_a_packet_or_malformed(first: int, body: bytes) -> None:
    try:
        packet = packets.decode(first, body)
    except Malformed:
        return
    if isinstance(packet, packets.Publish):  # what can be written back is the same
        written = b"".join(packets.publish_pieces(packet.message, packet.number))
        assert written[0] == first & 0xF7 and written.endswith(body)


@given(st.data())
def test_damaged_packets_are_packets_or_malformed(data: st.DataObject) -> None:
    whole = data.draw(
        st.sampled_from(
            [
                connect_packet("id", "name", "secret", will=("t", b"gone", 1, True)),
                b"".join(packets.publish_pieces(PublishedMessage("a/b", b"payload", 1, True), 7)),
                packets.packet(0x82, b"\0\1", text("a/+"), b"\1", text("#"), b"\0"),
                packets.packet(0xA2, b"\0\1", text("a/+"), text("#")),
            ]
        )
    )
    damaged = bytearray(whole)
    for place, value in data.draw(st.lists(st.tuples(st.integers(2, len(whole) - 1), st.integers(0, 255)), max_size=4)):
        damaged[place] = value
    cut = data.draw(st.integers(2, len(whole)))
    with suppress(Malformed):
        packets.decode(damaged[0], bytes(damaged[2:cut]))


@pytest.mark.parametrize(
    ("name", "topic", "expected"),
    [
        ("a/b", "a/b", True),
        ("a/+", "a/b", True),
        ("a/+", "a", False),
        ("a/+", "a/b/c", False),
        ("a/#", "a", True),
        ("a/#", "a/b/c", True),
        ("#", "a/b", True),
        ("#", "$SYS/b", False),
        ("+/b", "$SYS/b", False),
        ("$SYS/#", "$SYS/b", True),
        ("+", "a", True),
        ("+/+", "/a", True),
        ("+", "/a", False),
        ("/+", "/a", True),
        ("a//b", "a//b", True),
        ("a/+/b", "a//b", True),
    ],
)
def test_filters(name: str, topic: str, expected: bool) -> None:
    """The examples of chapter 4.7 of the standard, and their like."""
    assert topics.is_filter(name) and matches(name, topic) == expected


@given(NAMES, st.lists(st.sampled_from(["a", "b", "", "$x"]), min_size=1, max_size=4))
def test_filters_by_another_definition(name: str, levels: list[str]) -> None:
    topic = "/".join(levels)
    if not topics.is_filter(name) or not topic:
        return

    def fits(wanted: list[str], found: list[str]) -> bool:
        if not wanted or not found:
            return wanted in ([], ["#"]) and not found
        if wanted[0] == "#":
            return True
        return wanted[0] in ("+", found[0]) and fits(wanted[1:], found[1:])

    hidden = topic.startswith("$") and name[:1] in "+#"
    assert matches(name, topic) == (fits(name.split("/"), levels) and not hidden)


def test_what_is_no_filter() -> None:
    for name in ("", "a#", "a/#/b", "a+", "+a/b", "#/"):
        assert not topics.is_filter(name)


def test_the_answers_follow_the_subscriptions() -> None:
    found: topics.Subscriptions[str] = topics.Subscriptions()
    found.add("x", "a/+", 0)
    assert found.readers("a/b") == {"x": 0}
    found.add("x", "a/b", 1)
    found.add("y", "#", 0)
    assert found.readers("a/b") == {"x": 1, "y": 0}
    found.remove("x", "a/b")
    found.remove("y", "not there")
    assert found.readers("a/b") == {"x": 0, "y": 0}
    for number in range(topics.REMEMBERED + 10):
        found.readers(f"{number}")
    assert found._known.cache_info().currsize <= topics.REMEMBERED


# -- what both brokers do -------------------------------------------------------------------


def test_messages_go_to_who_subscribed(broker: Broker) -> None:
    with Client(broker, "reader") as reader, Client(broker, "writer") as writer:
        assert reader.subscribe(("t/1/+", 1), ("t/2/#", 0), ("t/1/x", 0)) == b"\1\0\0"
        for topic, payload, qos in (
            ("t/1/a", b"one", 1),
            ("t/1", b"no", 0),
            ("t/2", b"two", 1),
            ("t/1/b", b"", 0),
            ("t/2/a/b", bytes(300_000), 0),
            ("t/1/c", "ünï".encode(), 1),
        ):
            writer.publish(topic, payload, qos)
        assert reader.message() == ("t/1/a", b"one", 1, False)
        assert reader.message() == ("t/2", b"two", 0, False)
        assert reader.message() == ("t/1/b", b"", 0, False)
        assert reader.message() == ("t/2/a/b", bytes(300_000), 0, False)
        assert reader.message() == ("t/1/c", "ünï".encode(), 1, False)
        reader.say(packets.packet(0xA2, b"\0\5", text("t/1/+"), text("never")))
        assert reader.hear() == (0xB0, b"\0\5")
        writer.publish("t/1/a", b"no")
        writer.publish("t/2/a", b"yes")
        assert reader.message() == ("t/2/a", b"yes", 0, False)


def test_order_is_kept(broker: Broker) -> None:
    with Client(broker, "reader") as reader, Client(broker, "writer") as writer:
        reader.subscribe(("o", 0))
        for turn in range(300):
            writer.publish("o", b"%d" % turn + bytes(turn * 7))
        for turn in range(300):
            assert reader.message()[1] == b"%d" % turn + bytes(turn * 7)


def test_retained_messages(broker: Broker) -> None:
    with Client(broker, "writer") as writer:
        writer.publish("r/a", b"old", retain=True)
        writer.publish("r/a", b"new", 1, retain=True)
        writer.publish("r/b", b"cleared", 1, retain=True)
        writer.publish("r/b", b"", 1, retain=True)
        with Client(broker, "reader") as reader:
            reader.subscribe(("r/+", 1))
            assert reader.message() == ("r/a", b"new", 1, True)
            writer.publish("r/a", b"now", 1, retain=True)
            assert reader.message() == ("r/a", b"now", 1, False)
            writer.publish("r/a", b"", 1, retain=True)
            assert reader.message() == ("r/a", b"", 1, False)
            reader.synchronize()


@pytest.mark.parametrize("politely", [True, False])
def test_the_will_is_for_the_rude(broker: Broker, politely: bool) -> None:
    with Client(broker, "reader") as reader:
        reader.subscribe(("w/+", 1))
        leaving = Client(broker, "leaving", will=("w/1", b"gone", 1, False)).welcomed()
        leaving.leave(politely)
        if not politely:
            assert reader.message() == ("w/1", b"gone", 1, False)
        with Client(broker, "writer") as writer:
            writer.publish("w/2", b"after")
        assert reader.message() == ("w/2", b"after", 0, False)


@pytest.mark.slow
def test_silence_ends_a_client(broker: Broker) -> None:
    with Client(broker, "reader") as reader:
        reader.subscribe(("w", 0))
        silent = Client(broker, "silent", keepalive=1, will=("w", b"gone", 0, False)).welcomed()
        assert reader.message() == ("w", b"gone", 0, False)
        assert silent.is_closed()
        silent.leave()


def test_an_identifier_belongs_to_one(broker: Broker) -> None:
    with Client(broker, "reader") as reader:
        reader.subscribe(("w", 0))
        old = Client(broker, "same", will=("w", b"gone", 0, False)).welcomed()
        with Client(broker, "same") as new:
            assert reader.message()[1] == b"gone" and old.is_closed()
            new.synchronize()
        old.leave()


def test_without_the_password_nothing_is_seen(broker: Broker) -> None:
    with Client(broker, "reader") as reader:
        reader.subscribe(("#", 0))
        for options in ({"password": "x"}, {"name": "x"}, {"name": None, "password": None}):
            stranger = Client(broker, "stranger", will=("w", b"will", 0, False), **options)
            first, answer = stranger.hear()
            assert first == 0x20 and answer[1] in (4, 5)
            assert stranger.is_closed()
            stranger.leave()
        with Client(broker, "writer") as writer:
            writer.publish("x", b"only this")
        assert reader.message()[1] == b"only this"


def test_another_version(broker: Broker) -> None:
    other = Client(broker, level=9)
    assert other.hear() == (0x20, b"\0\1") and other.is_closed()
    other.leave()


HOSTILE = {
    "not MQTT": b"GET / HTTP/1.1\r\n\r\n",
    "not a CONNECT": b"\xc0\0",
    "endless length": b"\x10\xff\xff\xff\xff\xff",
    "huge length": b"\x10\xff\xff\xff\x7f" + bytes(100),
    "half a CONNECT": connect_packet("half")[:10],
    "silence": b"",
}
RUDE = {
    "a second CONNECT": connect_packet("again"),
    "a wildcard": b"\x30\x05\0\3a/#",
    "NUL in a topic": b"\x30\x05\0\3a\0b",
    "no UTF-8": b"\x30\x05\0\3a\xff\xfe",
    "QoS 3": b"\x36\x07\0\3abc\0\1",
    "a subscription to nothing": b"\x82\x02\0\1",
    "reserved flags": b"\x81\x06\0\1\0\1a\0",
    "a kind for brokers": b"\x20\x02\0\0",
    "a kind for nobody": b"\xf0\0",
    "a topic longer than its packet": b"\x30\x03\0\xffa",
}


def test_hostile_bytes_change_nothing(broker: Broker) -> None:
    with Client(broker, "reader") as reader:
        reader.subscribe(("#", 0))
        strangers = []
        for data in HOSTILE.values():
            stranger = socket.create_connection(("127.0.0.1", broker.port))
            stranger.sendall(data)
            strangers.append(stranger)
        for name, data in RUDE.items():
            rude = Client(broker, "rude").welcomed()
            rude.say(data)
            assert rude.is_closed(), name
            rude.leave()
        with Client(broker, "writer") as writer:
            writer.publish("x", b"only this")
        assert reader.message()[1] == b"only this"
        for stranger in strangers:
            stranger.close()


# -- what only ours does --------------------------------------------------------------------


def test_qos_2_is_refused(embedded: Broker) -> None:
    with Client(embedded, "reader") as reader:
        assert reader.subscribe(("a", 2), ("b#", 0)) == b"\1\x80"
        reader.say(b"\x34\x06\0\1a\0\1x")
        assert reader.is_closed()


def test_long_packets_are_refused_before_they_come(embedded: Broker) -> None:
    with Client(embedded, "writer") as writer:
        writer.say(b"\x30\xff\xff\xff\x7f")
        assert writer.is_closed()


def test_strangers_do_not_keep_clients_out(embedded: Broker) -> None:
    """More connections than may wait, none of which says anything."""
    strangers = [socket.create_connection(("127.0.0.1", embedded.port)) for _ in range(150)]
    with Client(embedded, "client") as client:
        client.synchronize()
    for stranger in strangers:
        stranger.close()


@pytest.mark.slow
def test_a_reader_that_takes_nothing_is_dropped(embedded: Broker) -> None:
    """Its sender is held up for a while, the broker's memory is bounded, and then all goes on."""
    pid = embedded._embedded.pid  # type: ignore[union-attr]
    with Client(embedded, "reader") as reader, Client(embedded, "writer") as writer:
        reader.subscribe(("s", 0))
        writer.socket.settimeout(60)
        for _ in range(150):
            writer.publish("s", bytes(1 << 20))
        writer.synchronize()
        assert _memory(pid) < 200 << 20
        with pytest.raises(EOFError):
            while True:
                reader.message()


def _memory(pid: int) -> int:
    """The most that a process ever held, in bytes; 0 where the system does not tell."""
    try:
        with open(f"/proc/{pid}/status") as file:  # noqa: PTH123
            lines = dict(line.split(":", 1) for line in file)
    except OSError:
        return 0
    return int(lines["VmHWM"].split()[0]) << 10


def test_it_is_started_and_stopped() -> None:
    with launch.start() as broker:
        assert broker.address.startswith("mqtt://127.0.0.1:") and broker.is_alive()
        pid = broker.pid
    assert not _is_alive(pid) and not broker.is_alive()
    broker.stop()
    broker.release()


def test_a_port_that_is_taken() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        with pytest.raises(DistNetworkError, match=r"did not start: error: .*in use"):
            launch.start("--port", str(port))


def test_an_open_broker_lets_this_machine_in_and_no_other() -> None:
    with launch.start("--open") as broker:
        port = int(broker.address.rpartition(":")[2])
        with socket.create_connection(("127.0.0.1", port)) as stranger:
            stranger.sendall(connect_packet("stranger", name=None, password=None))
            assert stranger.recv(4) == b"\x20\x02\0\0"  # CONNACK: accepted
    with pytest.raises(DistNetworkError, match=r"--open is for 127.0.0.1 and ::1"):
        launch.start("--open", "--host", "0.0.0.0")


@pytest.mark.parametrize("politely", [True, False])
def test_a_released_broker_ends_with_its_last_client(politely: bool) -> None:
    broker = launch.start()
    standin = Broker.__new__(Broker)
    standin.port = int(broker.address.rpartition(":")[2])
    standin.username, standin.password = credentials()
    with Client(standin, "1") as first, Client(standin, "2") as second:
        first.synchronize()
        pid = broker.pid
        broker.release()
        first.leave(politely)
        second.synchronize()
        second.leave()
    _await_end(pid)


def test_a_released_broker_without_clients_ends_at_once() -> None:
    broker = launch.start()
    pid = broker.pid
    broker.release()
    _await_end(pid)


def _await_end(pid: int) -> None:
    until = time.monotonic() + 300
    while _is_alive(pid):
        assert time.monotonic() < until, "the broker goes on"
        time.sleep(0.01)


def _is_alive(pid: int) -> bool:
    with suppress(ChildProcessError):
        os.waitpid(pid, os.WNOHANG)
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


# -- one who owns a part --------------------------------------------------------------------


@given(NAMES, st.sampled_from(["a", "a/b", "ü/b", "a/b/+"]), NAMES)
def test_no_subscription_that_is_allowed_takes_in_a_private_topic(name: str, base: str, beneath: str) -> None:
    """But for the exact names of answers, which only those know whose they are."""
    rules, topic = AccessRules(base), f"{base}/{beneath}"
    assert rules.may_hear(name, is_owner=True) and rules.may_say(topic, is_owner=True)
    if matches(name, topic) and ("+" in name or "#" in name or name == f"{base}/ask"):
        assert not rules.may_hear(name, is_owner=False)
    assert rules.may_say(topic, is_owner=False) == (beneath == "ask")
    assert AccessRules().may_hear(name, is_owner=False) and AccessRules().may_say(topic, is_owner=False)


def test_a_broker_with_an_owner() -> None:
    """Others ask, and hear the answers on topics that they know; they cannot speak for the owner."""
    environment = {**os.environ, keys.VARIABLE: KEY, OWNER_KEY: "secret"}
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv(keys.VARIABLE, KEY)
        username, password = credentials()
    with launch.start("--private", "m/s", environment=environment) as made:
        broker: Any = SimpleNamespace(port=int(made.address.rpartition(":")[2]), username=username, password=password)
        known = {"name": OWNER, "password": owner_password("secret")}
        with Client(broker, "owner", **known) as owner, Client(broker, "member") as member:
            assert owner.subscribe(("m/s/#", 0)) == b"\0"
            names = ["m/s/#", "#", "+/s/ask", "m/s/ask", "m/s/answer/7", "m/other/+"]
            granted = member.subscribe(*[(name, 0) for name in names])
            assert granted == bytes([128, 128, 128, 128, 0, 0])
            member.publish("m/s/ask", b"?")
            assert owner.message()[:2] == ("m/s/ask", b"?")
            owner.publish("m/s/answer/7", b"!")
            assert member.message()[:2] == ("m/s/answer/7", b"!")
            member.publish("m/s/answer/8", b"I am the owner")
            assert member.is_closed()
        for wrong in ("guess", "", password, None):
            with Refused(broker, "thief", name=OWNER, password=wrong) as thief:
                assert thief.is_refused
        with Refused(broker, "heir", will=("m/s/owner", b"I was the owner", 1, True)) as heir:
            assert heir.is_refused


class Refused(Client):
    """One who is not let in."""

    is_refused = False

    def __enter__(self) -> Refused:
        first, answer = self.hear()
        self.is_refused = first == 0x20 and answer[1] == packets.BAD_PASSWORD
        return self
