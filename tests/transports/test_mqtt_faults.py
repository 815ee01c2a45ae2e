"""What goes wrong at a broker changes nothing, or ends in words: kills, cuts, stalls, strangers."""

from __future__ import annotations

import asyncio
import hashlib
import os
import shutil
import signal
import ssl
import subprocess
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import pytest

from tests.patience import told_in_time
from tests.ports import free_port
from tests.transports.brokers import KINDS, Broker, Client, Proxy, together
from transports import conformance, keys
from transports.broker import launch
from transports.broker.credentials import credentials
from transports.broker.launch import BrokerProcess
from transports.clock import SYSTEM
from transports.conformance import End
from transports.conformance.bench import Tray, draw, pattern
from transports.contract import Transport
from transports.errors import ConnectError, DistNetworkError, PeerLost, TrustError
from transports.mqtt import WINDOW, MqttTransport
from transports.mqtt_protocol import address as addresses, peer_table, peers
from transports.mqtt_protocol.connection import Connection
from transports.mqtt_protocol.store import MQTTStore
from transports.stores.store import HashStore

PATIENCE = 300.0


@pytest.fixture(params=KINDS)
def broker(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[Broker]:
    made = Broker(request.param)
    monkeypatch.setenv("TEST_BROKER", made.address)
    yield made
    made.stop()


def make(rank: int, world_size: int, folder: str) -> MqttTransport:
    return MqttTransport(rank, world_size, os.environ["TEST_BROKER"])


class World:
    """Ranks that are threads, held in one hand."""

    def __init__(self, *addresses: str) -> None:
        size, store = len(addresses), HashStore()
        self.ranks = [MqttTransport(rank, size, text) for rank, text in enumerate(addresses)]
        self.trays = [Tray(lambda n: n % 2 == 0) for _ in addresses]
        together(*(lambda t=t, b=b: t.connect(store, b, PATIENCE) for t, b in zip(self.ranks, self.trays, strict=True)))

    def receive(self, rank: int, src: int, count: int) -> list[tuple[bytes, bytearray]]:
        tray = self.trays[rank]
        self.until(rank, lambda: tray.count(src) >= count)
        return tray.messages[src]

    def until(self, rank: int, done: Callable[[], bool]) -> None:
        until = time.monotonic() + PATIENCE
        while not done():
            assert time.monotonic() < until, f"{self.ranks[rank]!r} waits in vain"
            self.ranks[rank].progress(0.2, done)

    def __enter__(self) -> World:
        return self

    def __exit__(self, *_: object) -> None:
        together(*(transport.close for transport in self.ranks))
        assert not [text for tray in self.trays for text in tray.complaints]


def poll(done: Callable[[], bool]) -> None:
    until = time.monotonic() + PATIENCE
    while not done():
        assert time.monotonic() < until, "waited in vain"
        time.sleep(0.01)


# -- the broker goes away -------------------------------------------------------------------


class Transfer:
    """Every rank sends the others messages of many sizes; hashes of what went and what came."""

    def __init__(self, messages: int, marker: Path) -> None:
        self.messages, self.marker = messages, marker

    def __call__(self, end: End) -> tuple[list[str], list[str], list[int], list[int]]:
        transport, tray = end.make(), Tray(lambda n: n % 2 == 0)
        transport.connect(end.store, tray, PATIENCE)
        size = end.world_size
        sent = [hashlib.sha256() for _ in range(size)]
        for turn in range(self.messages):
            for dst in range(size):
                payload = pattern(turn + dst, draw(400_000, end.rank, dst, turn))
                transport.send(dst, b"%d" % turn, payload)
                sent[dst].update(b"%d" % turn + payload)
            if end.rank == 0:
                self.marker.write_text(f"{turn}")
                while turn == self.messages - 10 and not self.marker.with_suffix(".killed").exists():
                    transport.progress(0.01)
        deadline = transport.clock.deadline(PATIENCE)
        while any(tray.count(src) < self.messages for src in range(size)) and not deadline.is_over():
            transport.progress(0.1)
        came = [hashlib.sha256() for _ in range(size)]
        counts = [min(tray.count(src), self.messages) for src in range(size)]
        for src in range(size):
            # a peer that has everything has said so already, perhaps: its last message is not counted
            for header, payload in tray.messages.get(src, [])[: self.messages]:
                came[src].update(header + payload)
        lost = list(tray.lost_ranks)
        for peer in range(size):  # nobody leaves before all have everything
            transport.send(peer, b"end", b"")
        while any(tray.count(src) <= self.messages for src in range(size)) and not deadline.is_over():
            transport.progress(0.1)
        transport.close()
        return [h.hexdigest() for h in sent], [h.hexdigest() for h in came], lost, counts


@pytest.mark.slow
def test_a_broker_killed_twice_within_a_transfer_changes_nothing(broker: Broker, tmp_path: Path) -> None:
    marker, results = tmp_path / "turn", list[Any]()
    launcher = conformance.in_processes(make)
    thread = threading.Thread(target=lambda: results.extend(launcher(3, Transfer(120, marker))))
    thread.start()
    for turn in (20, 70):

        def is_there(turn: int = turn) -> bool:
            return marker.exists() and int(marker.read_text() or 0) >= turn

        poll(is_there)
        broker.kill()
        broker.start()
    marker.with_suffix(".killed").touch()
    thread.join()
    assert [result[2] for result in results] == [[], [], []]
    assert [result[3] for result in results] == [[120] * 3] * 3  # what came of each, in five minutes
    for src in range(3):
        for dst in range(3):
            assert results[src][0][dst] == results[dst][1][src], f"from {src} to {dst}"


@pytest.mark.slow
def test_a_connection_that_is_cut_again_and_again_changes_nothing(broker: Broker) -> None:
    """Each cut makes the broker publish the last will; the rank comes back and nobody loses it."""
    proxy = Proxy(broker)
    with World(proxy.address, broker.address) as world:

        def pass_on(rank: int) -> None:
            for turn in range(60):
                world.ranks[rank].send(1 - rank, b"%d" % turn, pattern(turn, 3000 * turn))
                if rank == 0 and turn % 15 == 7:
                    proxy.cut()
            for turn, (header, data) in enumerate(world.receive(rank, 1 - rank, 60)[:60]):
                assert header == b"%d" % turn and data == pattern(turn, 3000 * turn)

        together(lambda: pass_on(0), lambda: pass_on(1))
        assert [tray.lost_ranks for tray in world.trays] == [[], []]
    proxy.close()


@pytest.mark.slow
def test_a_broker_that_stays_away_is_an_error_with_the_reason(broker: Broker) -> None:
    address = f"{broker.address}?broker_timeout=1"
    with World(address, address) as world:
        broker.kill()
        world.until(0, lambda: world.trays[0].lost_ranks == [1])
        with pytest.raises(PeerLost, match=rf"the broker at mqtt://127.0.0.1:{broker.port} was away"):
            world.ranks[0].send(1, b"", b"x")
        world.until(1, lambda: world.trays[1].lost_ranks == [0])


def test_no_broker_at_all() -> None:
    address = f"mqtt://127.0.0.1:{free_port()}"

    def connect(seconds: float) -> None:
        transport = MqttTransport(0, 1, address)
        try:
            transport.connect(HashStore(), Tray(lambda n: True), seconds)
        finally:
            transport.close()

    told_in_time(ConnectError, r"refused.*Does a broker listen there.*mosquitto -p", connect)


@pytest.mark.slow
@pytest.mark.parametrize("kind", [MqttTransport, MQTTStore])
def test_no_broker_is_told_long_before_the_timeout(kind: Any) -> None:
    """After some tries, unless the address says how long to wait."""
    address = f"mqtt://127.0.0.1:{free_port()}"
    with pytest.raises((ConnectError, DistNetworkError), match="mosquitto -p"):
        if kind is MQTTStore:
            MQTTStore(address, 1, timeout=3600)
        else:
            MqttTransport(0, 1, address).connect(HashStore(), Tray(lambda n: True), 3600)


def test_an_address_may_say_to_wait_for_a_broker() -> None:
    wanted = addresses.parse(f"mqtt://127.0.0.1:{free_port()}?broker_timeout=31")
    connection: Any = Connection(wanted, [], None, None, SYSTEM)  # type: ignore[arg-type]
    connection._failed = 100
    assert not connection.is_vain()
    connection.address = addresses.parse(wanted.shown)
    assert connection.is_vain()
    connection.close()


# -- a rank goes away -----------------------------------------------------------------------


class Stop:
    """Rank 1 is stopped as a debugger would do it; rank 0 waits for word of that."""

    def __call__(self, end: End) -> list[int]:
        transport, tray = end.make(), Tray(lambda n: True)
        transport.connect(end.store, tray, PATIENCE)
        end.store.set(f"pid/{end.rank}", str(os.getpid()))
        pid = int(end.store.multi_get(["pid/0", "pid/1"])[1])
        if end.rank == 1:
            os.kill(os.getpid(), signal.SIGSTOP)
        deadline = transport.clock.deadline(PATIENCE)
        while not tray.lost_ranks and not deadline.is_over():
            transport.progress(1)
        os.kill(pid, signal.SIGKILL)
        transport.close()
        return tray.lost_ranks


@pytest.mark.slow
@pytest.mark.skipif(not hasattr(signal, "SIGSTOP"), reason="needs SIGSTOP")
def test_a_rank_that_stands_still_is_lost(broker: Broker) -> None:
    lost, nothing = conformance.in_processes(make)(2, Stop())
    assert lost == [1] and nothing is None


def test_a_rank_that_does_not_receive_stops_its_sender(broker: Broker) -> None:
    """With a window of frames on their way and not one more; it is not lost, and all arrives."""
    with World(broker.address, broker.address) as world:
        begun = list[int]()

        def send() -> None:
            for turn in range(3 * WINDOW):
                begun.append(turn)
                world.ranks[0].send(1, b"%d" % turn, pattern(turn, 5000))

        thread = threading.Thread(target=send)
        thread.start()
        outgoing = world.ranks[0]._peer_table.peers[1].outgoing  # type: ignore[union-attr]
        incoming = world.ranks[1]._peer_table.peers[0].incoming  # type: ignore[union-attr]
        poll(lambda: incoming.expected == WINDOW and len(begun) == WINDOW + 1)
        assert not outgoing.has_room() and thread.is_alive() and not world.trays[1].begun
        got = world.receive(1, 0, 3 * WINDOW)
        thread.join()
        assert [header for header, _ in got] == [b"%d" % turn for turn in range(3 * WINDOW)]
        assert world.trays[0].lost_ranks == []


@pytest.mark.slow
def test_patience(broker: Broker) -> None:
    """Who set a limit gives up a peer that takes nothing; and that peer is told."""
    with World(broker.address, broker.address) as world:
        world.ranks[0].patience = 0.3
        with pytest.raises(PeerLost, match=r"took nothing for 0\.3 s") as caught:
            while True:
                world.ranks[0].send(1, b"", b"x")
        assert caught.value.rank == 1
        world.until(0, lambda: world.trays[0].lost_ranks == [1])
        world.until(1, lambda: world.trays[1].lost_ranks == [0])
        with pytest.raises(PeerLost, match="gave this rank up: it took nothing"):
            world.ranks[1].send(0, b"", b"x")


@pytest.mark.slow
def test_idle_ranks_live(broker: Broker, monkeypatch: pytest.MonkeyPatch) -> None:
    """Through many beats in which nobody says anything; with a pulse ten times as fast.

    The silence of a lost rank stays longer than a loaded machine keeps one from its turn.
    """
    monkeypatch.setattr(peer_table, "BEAT", 0.2)
    monkeypatch.setattr(peers, "SILENCE", 3.0)
    with World(*[broker.address] * 3) as world:
        before = [t._peer_table.connection._loop.time() for t in world.ranks]  # type: ignore[union-attr]
        poll(lambda: world.ranks[0]._peer_table.connection._loop.time() > before[0] + 4)  # type: ignore[union-attr]
        world.ranks[0].progress(0)
        assert [tray.lost_ranks for tray in world.trays] == [[], [], []]


# -- strangers ------------------------------------------------------------------------------


def test_the_wrong_key(broker: Broker, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(keys.VARIABLE, "another key")
    transport = MqttTransport(0, 2, broker.address)
    store = HashStore()
    store.set("mqtt/1", '[1, "elsewhere", "", ""]')
    with pytest.raises(TrustError, match=r"does not let us in: .*MINITORCH_DIST_KEY"):
        transport.connect(store, Tray(lambda n: True), PATIENCE)


def attack(transport: Transport) -> None:
    """Somebody with the broker's password, but without the job's key."""
    assert isinstance(transport, MqttTransport)
    place = transport._peer_table.connection.address
    known = Broker.__new__(Broker)
    known.port, (known.username, known.password) = place.port, credentials()
    base = transport._peer_table._presence(transport.rank).rpartition("/p/")[0]
    with Client(known, "stranger") as client:
        for rank in range(transport.world_size):
            for src in (*range(transport.world_size), 7, "x"):
                for data in (b"", b"x", bytes(66), bytes(300), b"mq\1\3" + bytes(500_000)):
                    client.publish(f"{base}/d/{rank}/{src}", data)
                    client.publish(f"{base}/p/{src}", data)
        client.synchronize()


@pytest.mark.parametrize("world_size", [1, 2, 3])
def test_garbage_is_not_heard(broker: Broker, world_size: int) -> None:
    conformance.check(conformance.in_threads(make), [world_size], only=[], stranger=attack)


def test_what_is_repeated_or_moved_is_not_heard(broker: Broker) -> None:
    """A stranger records everything that the ranks say, and says it again in many ways."""
    with Client(broker, "stranger") as stranger:
        stranger.subscribe(("mtd/#", 0))
        with World(broker.address, broker.address) as earlier:
            earlier.ranks[0].send(1, b"earlier", b"world")
            earlier.receive(1, 0, 1)
        with World(broker.address, broker.address) as world:
            for turn in range(20):
                world.ranks[0].send(1, b"%d" % turn, pattern(turn, 2000 * turn))
                world.ranks[1].send(0, b"%d" % turn, pattern(turn, 100))
            world.receive(1, 0, 20)
            world.receive(0, 1, 20)
            stranger.publish("mtd/end", b"")
            recorded = []
            while (message := stranger.message())[0] != "mtd/end":
                recorded.append(message)
            run = recorded[-1][0].split("/")[1]
            places = [f"mtd/{run}/{place}" for place in ("d/0/1", "d/1/0", "p/0", "p/1")]
            for topic, payload, *_ in recorded:
                for place in {topic, *places}:
                    stranger.publish(place, payload)
            stranger.publish("mtd/said", b"")
            while stranger.message()[0] != "mtd/said":
                pass  # and then the ranks hear it before what they say from now on
            for turn in range(20, 40):
                world.ranks[0].send(1, b"%d" % turn, pattern(turn, 2000 * turn))
            got = world.receive(1, 0, 40)
            assert [header for header, _ in got] == [b"%d" % turn for turn in range(40)]
            for turn, (_, data) in enumerate(got):
                assert data == pattern(turn, 2000 * turn)
            world.ranks[0].progress(0)
            assert [tray.begun for tray in world.trays] == [20, 40]
            assert [tray.lost_ranks for tray in world.trays] == [[], []]
            dropped = world.ranks[1]._peer_table.dropped  # type: ignore[union-attr]
            assert {"seal", "again", "place", "kind"} <= set(dropped)


@pytest.mark.slow
def test_a_stranger_cannot_keep_the_dead_alive(broker: Broker, monkeypatch: pytest.MonkeyPatch) -> None:
    """It repeats all that a rank ever said; the rank is lost all the same."""
    monkeypatch.setattr(peers, "GRACE", 0.5)
    proxy = Proxy(broker)
    with Client(broker, "stranger") as stranger:
        stranger.subscribe(("mtd/+/d/0/1", 0))
        with World(broker.address, f"{proxy.address}?broker_timeout=1") as world:
            for turn in range(10):
                world.ranks[1].send(0, b"%d" % turn, b"x")
            world.receive(0, 1, 10)
            proxy.close()
            recorded = [stranger.message() for _ in range(11)]
            until = time.monotonic() + PATIENCE
            while not world.trays[0].lost_ranks and time.monotonic() < until:
                for topic, payload, *_ in recorded:
                    stranger.publish(topic, payload)
                world.ranks[0].progress(0.05)
            assert world.trays[0].lost_ranks == [1]


# -- encrypted ------------------------------------------------------------------------------


@contextmanager
def tls_front(broker: BrokerProcess, certificate: Path, key: Path) -> Iterator[int]:
    """A port at which a broker speaks TLS: what comes out of it is passed on."""
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    context.load_cert_chain(certificate, key)
    loop, behind = asyncio.new_event_loop(), int(broker.address.rpartition(":")[2])

    async def pass_on(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with suppress(OSError):
            while data := await reader.read(1 << 16):
                writer.write(data)
                await writer.drain()
        writer.close()

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        inner, outer = await asyncio.open_connection("127.0.0.1", behind)
        await asyncio.gather(pass_on(reader, outer), pass_on(inner, writer))

    server = loop.run_until_complete(asyncio.start_server(serve, "127.0.0.1", 0, ssl=context))
    thread = threading.Thread(target=loop.run_forever)
    thread.start()
    try:
        yield server.sockets[0].getsockname()[1]
    finally:

        async def end() -> None:
            server.close()
            for task in asyncio.all_tasks():
                if task is not asyncio.current_task():
                    task.cancel()

        asyncio.run_coroutine_threadsafe(end(), loop).result(60)
        loop.call_soon_threadsafe(loop.stop)
        thread.join(60)
        loop.run_until_complete(loop.shutdown_asyncgens())
        loop.close()


@pytest.mark.filterwarnings("ignore:unclosed <ssl.SSLSocket")  # paho leaves it to the collector
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
@pytest.mark.skipif(shutil.which("openssl") is None, reason="openssl makes the certificate")
def test_an_encrypted_broker(tmp_path: Path) -> None:
    key, certificate = tmp_path / "key.pem", tmp_path / "certificate.pem"
    subprocess.run(
        [
            "openssl",
            "req",
            "-x509",
            "-newkey",
            "rsa:2048",
            "-nodes",
            "-days",
            "2",
            "-subj",
            "/CN=localhost",
            "-addext",
            "subjectAltName=DNS:localhost,IP:127.0.0.1",
            "-keyout",
            key,
            "-out",
            certificate,
        ],
        check=True,
        capture_output=True,
    )
    with launch.start() as broker, tls_front(broker, certificate, key) as port:
        place = f"mqtt://127.0.0.1:{port}?tls=1"
        address = f"{place}&ca={certificate}"
        with World(address, address) as world:
            world.ranks[0].send(1, b"h", pattern(1, 700_000))
            assert world.receive(1, 0, 1) == [(b"h", pattern(1, 700_000))]
        with pytest.raises(TrustError, match="certificate verify failed"):
            MqttTransport(0, 1, place).connect(HashStore(), Tray(bool), 60)


# -- the library's own broker ---------------------------------------------------------------


@pytest.mark.parametrize("first", [0, 1])
def test_without_a_host_the_library_brings_a_broker(first: int) -> None:
    """It outlives the rank that started it, and ends with the last one."""
    with World("mqtt://", "mqtt://", "mqtt://") as world:
        started = world.ranks[0]._broker
        assert started is not None and started.is_alive()
        pid = started.pid
        if first == 0:
            world.ranks[0].close()
        world.ranks[1].send(2, b"", b"still here")
        world.receive(2, 1, 1)
    poll(lambda: not _is_alive(pid))


def _is_alive(pid: int) -> bool:
    try:
        os.waitpid(pid, os.WNOHANG)
        os.kill(pid, 0)
    except (ProcessLookupError, ChildProcessError):
        return False
    return True


def test_no_trace_is_left_at_the_broker(broker: Broker) -> None:
    with World(broker.address, broker.address), Client(broker, "curious") as curious:
        curious.subscribe(("#", 1))
        retained = set[str]()
        while len(retained) < 2:  # among what the ranks may still be saying to each other
            topic, _, _, is_retained = curious.message()
            retained |= {topic} if is_retained else set()
        assert all("/p/" in topic for topic in retained)
    with Client(broker, "curious") as curious:
        curious.subscribe(("#", 1))
        kept = list(curious.until_synchronized())
        assert not [topic for topic, _, _, is_retained in kept if is_retained], kept
