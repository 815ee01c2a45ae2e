"""Strangers: whatever they do at the listener, they change nothing and hold up nobody."""

from __future__ import annotations

import socket
import struct
import threading
from collections.abc import Iterator

import pytest

from transports import conformance, keys
from transports.clock import SYSTEM
from transports.conformance.bench import Tray
from transports.contract import Transport
from transports.errors import DistNetworkError, TrustError
from transports.sockets import auth_listener, endpoints, handshake
from transports.sockets.auth_listener import AuthListener, dial
from transports.sockets.handshake import Claim
from transports.stores.store import HashStore
from transports.stores.tcp import TCPStore
from transports.tcp import TcpTransport

KEY = b"k" * 32
PLACE = ("127.0.0.1",)


@pytest.fixture
def entrance() -> Iterator[AuthListener]:
    made = AuthListener(endpoints.listen("127.0.0.1", 0), KEY, SYSTEM)
    yield made
    made.close()


def knock(port: int, *said: bytes) -> socket.socket:
    """Connect, and say something that is not expected to help."""
    stranger = socket.create_connection((*PLACE, port), timeout=20)
    for text in said:
        try:
            stranger.sendall(text)
        except OSError:
            break
    return stranger


def recorded(port: int, key: bytes) -> bytes:
    """A hello that was right once, for another greeting."""
    hello, _ = handshake.answer(key, handshake.greet(), Claim(1, 0))
    return hello


def attacks(port: int) -> list[socket.socket]:
    """What strangers do. The connections stay open until the test closes them."""
    huge = struct.pack("<2sHIQ", b"mt", 1, 0, 1 << 60)
    return [
        knock(port),  # silence
        knock(port, b"GET / HTTP/1.1\r\nHost: x\r\n\r\n" * 50),
        knock(port, bytes(100_000)),
        knock(port, huge),
        knock(port, handshake.MAGIC + b"half a hello"),
        knock(port, recorded(port, KEY)),
        knock(port, recorded(port, b"another key" * 3)),
        knock(port, handshake.MAGIC + b"\xff" * (handshake.HELLO_LENGTH - 8), huge),
        *(knock(port) for _ in range(auth_listener.SLOTS + 20)),  # and a crowd
    ]


def settle(entrance: AuthListener, until: int) -> None:
    deadline = SYSTEM.deadline(60)
    while sum(entrance.refused.values()) < until and not deadline.is_over():
        assert entrance.wait(0.05) == []


def test_strangers_are_shown_out_and_told_apart(entrance: AuthListener) -> None:
    crowd = attacks(entrance.port)
    settle(entrance, 26)
    told = entrance.refused
    assert told["did not hold the job's key"] == 3 and told["did not speak the handshake"] >= 3
    assert told["came too many at once"] >= 19
    assert len(entrance._strangers) <= auth_listener.SLOTS
    assert all(len(g.heard) <= handshake.HELLO_LENGTH for g in entrance._strangers.values())
    assert "did not hold the job's key" in repr(entrance)
    friends: list[socket.socket] = []
    thread = threading.Thread(target=lambda: friends.append(call(entrance.port, KEY)))
    thread.start()
    admitted: list[tuple[socket.socket, Claim]] = []
    while not admitted:
        admitted = entrance.wait(1)
    thread.join(300)
    assert [claim for _, claim in admitted] == [Claim(3, 1, b"w")]
    for connection in [*crowd, *friends, admitted[0][0]]:
        connection.close()


def call(port: int, key: bytes) -> socket.socket:
    return dial(*PLACE, port, key, Claim(3, 1, b"w"), SYSTEM, SYSTEM.deadline(60))


def test_who_is_silent_is_shown_out_after_a_while(entrance: AuthListener, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(auth_listener, "SECONDS", 0.05)
    with knock(entrance.port), knock(entrance.port, handshake.MAGIC):
        settle(entrance, 2)
        assert entrance.refused == {"said nothing for 0.05 s": 2}


def test_a_caller_with_another_key_is_told_so(entrance: AuthListener) -> None:
    errors: list[Exception] = []

    def attempt() -> None:
        try:
            call(entrance.port, b"x" * 32)
        except TrustError as error:
            errors.append(error)

    thread = threading.Thread(target=attempt)
    thread.start()
    settle(entrance, 1)
    thread.join(300)
    assert "does not hold the same key" in str(errors[0]) and keys.VARIABLE in str(errors[0])


def test_a_caller_does_not_trust_who_answers() -> None:
    with socket.create_server((*PLACE, 0)) as impostor:

        def answer() -> None:
            for said in (b"220 mail.example.org ESMTP Postfix (Debian) ready", handshake.greet()):
                connection, _ = impostor.accept()
                with connection:
                    connection.sendall(said)
                    if said.startswith(handshake.MAGIC):
                        hello = connection.recv(1000)
                        connection.sendall(hello[-handshake.MAC :])  # its own proof, sent back

        thread = threading.Thread(target=answer)
        thread.start()
        port = impostor.getsockname()[1]
        with pytest.raises(TrustError, match="no listener of ours"):
            call(port, KEY)
        with pytest.raises(TrustError, match="does not hold the same key"):
            call(port, KEY)
        thread.join(300)


def test_nobody_there() -> None:
    with socket.create_server((*PLACE, 0)) as other:
        port = other.getsockname()[1]
    with pytest.raises(DistNetworkError, match=rf"127.0.0.1:{port} within 0.1 s: Connection ref"):
        dial(*PLACE, port, KEY, Claim(0, 0), SYSTEM, SYSTEM.deadline(0.1))


def test_a_world_connects_through_a_crowd() -> None:
    store, trays = HashStore(), [Tray(lambda n: True) for _ in range(3)]
    ends = [TcpTransport(rank, 3) for rank in range(3)]
    threads = [threading.Thread(target=ends[r].connect, args=(store, trays[r], 60)) for r in (0, 1)]
    for thread in threads:
        thread.start()
    store.set("tcp/host/2", endpoints.host_mark())  # so that the others open their doors
    store.wait(["tcp/0"], 60)
    crowd = attacks(int(store.get("tcp/0").split()[1]))
    store.delete_key("tcp/host/2")
    ends[2].connect(store, trays[2], 60)
    for thread in threads:
        thread.join(300)
    for end in ends:
        end.send(0, b"hello", b"x")
    while sum(map(len, trays[0].messages.values())) < 3:
        ends[0].progress(10)
    assert sorted(trays[0].messages) == [0, 1, 2] and not trays[0].complaints
    for closing in [*crowd, *ends]:
        closing.close()


def make(rank: int, world_size: int, folder: str) -> TcpTransport:
    return TcpTransport(rank, world_size)


def attack(transport: Transport) -> None:
    """Once all are connected nobody listens any more."""
    assert isinstance(transport, TcpTransport)
    with pytest.raises(ConnectionRefusedError):
        knock(transport.port)


@pytest.mark.parametrize("world_size", [1, 2, 3])
def test_a_connected_world_has_no_door(world_size: int) -> None:
    conformance.check(conformance.in_threads(make), [world_size], only=[], stranger=attack)


def test_a_store_goes_on_while_strangers_knock() -> None:
    store = TCPStore("localhost", 0, is_master=True)
    store.set("k", "v")
    crowd = attacks(store.port)
    other = TCPStore("localhost", store.port)
    assert other.get("k") == b"v" and other.add("n", 2) == 2 and other.num_keys() == 2
    for closing in [*crowd, other, store]:
        closing.close()


def test_a_store_does_not_answer_another_key(monkeypatch: pytest.MonkeyPatch) -> None:
    store = TCPStore("localhost", 0, is_master=True)
    monkeypatch.setenv(keys.VARIABLE, "another")
    with pytest.raises(TrustError, match=f"localhost:{store.port} does not hold the same key"):
        TCPStore("localhost", store.port)
    store.close()
