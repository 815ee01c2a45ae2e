"""What one client says to a store can end that client's connection, and nothing else.

The clients here hold the job's key: they pass the handshake and then say anything. Beside them an
ordinary client works and checks every answer.
"""

from __future__ import annotations

import os
import random
import socket
import struct
import threading
from collections.abc import Iterator
from contextlib import suppress
from math import inf, nan
from pathlib import Path
from typing import Any

import pytest

from transports import frames
from transports.clock import SYSTEM
from transports.errors import DistError, DistStoreError, StoreTimeout
from transports.keys import job_key
from transports.sockets.auth_listener import dial
from transports.sockets.handshake import Claim
from transports.stores import key_values, protocol, server
from transports.stores.file import FileStore
from transports.stores.protocol import StoreRequest
from transports.stores.store import HashStore
from transports.stores.tcp import TCPStore

KINDS = [*key_values.OPERATIONS, "", "explode", "a\0b"]
TIMES = (
    b"0", b"-1", b"-inf", b"inf", b"nan", b"1e308", b"-1e308", b"1e-320", b"9" * 400, b"1e12", b"soon",
    b"", b"0x10", b"\xff", b"1_0", b" 1 ", b"0.05",
)  # fmt: skip
COUNTS = (b"0", b"1", b"2", b"-1", b"7", b"9" * 5000, b"one", b"", b"\xff", b"1_0")
FIELDS = (b"", b"k", b"12", b"-3", b"9" * 4299, b"9" * 5000, b"\xff\xfe", b"\0", b"x" * 70_000, b"joined")


@pytest.fixture
def store() -> Iterator[TCPStore]:
    made = TCPStore("localhost", 0, is_master=True, timeout=60)
    yield made
    made.close()


def odd_client(port: int) -> socket.socket:
    """A connection that has proved to hold the key."""
    connection = dial("127.0.0.1", port, job_key(server.KEY), Claim(0, 0), SYSTEM, SYSTEM.deadline(60))
    connection.settimeout(60)
    return connection


def request(operation: str, keys: list[bytes], values: list[bytes], seconds: bytes = b"0") -> bytes:
    """As `protocol.pack_request`, but with anything for the time."""
    return protocol.pack([operation.encode(), seconds, b"%d" % len(keys), *keys, *values])


class AtWork:
    """An ordinary client in a thread of its own, which looks whether all answers are right."""

    def __init__(self, port: int) -> None:
        self._store = TCPStore("localhost", port, timeout=60)
        self._is_over, self.rounds = False, 0
        self.errors: list[Exception] = []
        self._thread = threading.Thread(target=self._run)
        self._thread.start()

    def _run(self) -> None:
        key = os.urandom(4).hex()
        try:
            while not self._is_over:
                self.rounds += 1
                self._store.set(key, b"%d" % self.rounds)
                assert self._store.get(key) == b"%d" % self.rounds
                assert self._store.add(f"{key} sum", 2) == 2 * self.rounds
                self._store.queue_push(f"{key} q", b"first")
                assert self._store.queue_pop(f"{key} q") == b"first"
        except Exception as error:
            self.errors.append(error)

    def end(self) -> None:
        self._is_over = True
        self._thread.join(300)
        self._store.close()
        assert not self.errors and self.rounds


def odd_saying(chance: random.Random) -> bytes:
    """One thing that a client may say: a request with odd parts, or what is none."""
    kind = chance.randrange(8)
    if kind < 5:
        parts = [chance.choice(FIELDS) for _ in range(chance.randrange(4))]
        fields = [chance.choice(KINDS).encode(), chance.choice(TIMES), chance.choice(COUNTS), *parts]
        return protocol.pack(fields[: chance.randrange(2, 4 + len(parts))])
    if kind == 5:  # a frame whose lengths are lies
        body = bytearray(protocol.pack([chance.choice(FIELDS)[:100] for _ in range(3)]))
        at = chance.randrange(len(body) - 4)
        body[at : at + 4] = struct.pack("<I", chance.choice((0, 1, 2**31, 2**32 - 1)))
        return bytes(body)
    if kind == 6:  # half a frame
        whole = request("get", [b"k"], [])
        return whole[: chance.randrange(1, len(whole))]
    return chance.randbytes(chance.randrange(1, 200))


@pytest.mark.parametrize("seed", range(4))
def test_whatever_clients_say_the_others_stay_right(store: TCPStore, seed: int) -> None:
    at_work, chance = AtWork(store.port), random.Random(seed)
    for _ in range(200):
        client = odd_client(store.port)
        with suppress(OSError):  # it may be dismissed amid that
            for _ in range(chance.randrange(1, 6)):
                client.sendall(odd_saying(chance))
        if chance.random() < 0.5:
            hear_out(client)
        client.close()
    at_work.end()
    assert store.add("after", 1) == 1


def hear_out(client: socket.socket) -> None:
    """Say no more, and read to the end; or find that it has come already."""
    with suppress(OSError):
        client.shutdown(socket.SHUT_WR)
        while client.recv(1 << 16):
            pass


@pytest.mark.parametrize("seconds", TIMES)
@pytest.mark.parametrize("operation", ["get", "wait", "queue_pop"])
def test_a_time_in_any_form(store: TCPStore, operation: str, seconds: bytes) -> None:
    client = odd_client(store.port)
    client.sendall(request(operation, [b"nothing"], [], seconds))
    hear_out(client)
    client.close()
    assert store.add("n", 1) == 1


def test_more_than_can_be_said_at_once(store: TCPStore, monkeypatch: pytest.MonkeyPatch) -> None:
    """To ask for more at once than an answer holds is an error."""
    monkeypatch.setattr(protocol, "MAX_MESSAGE", 4000)
    other = TCPStore("localhost", store.port, timeout=60)
    for number in range(3):
        other.set(f"k{number}", bytes(1500))
    with pytest.raises(DistStoreError, match="too many for a store"):
        other.multi_get([f"k{number}" for number in range(3)])
    names = [f"nobody sets this {number}" * 4 for number in range(49)]
    with pytest.raises(DistStoreError, match="too many for a store"):
        other.wait(names, 0)
    assert store.get("k1") == bytes(1500)
    other.close()


def test_a_count_of_clients_that_is_no_number(store: TCPStore) -> None:
    """The note of a timeout tells how many have joined, and was read as text."""
    client = odd_client(store.port)
    client.sendall(request("set", [server.JOINED.encode()], [b"\xff\xfe"]))
    store._server._world_size = 2  # type: ignore[union-attr]
    with pytest.raises(StoreTimeout, match="have joined this store"):
        store.wait(["nothing"], 0)
    client.close()


def test_requests_behind_one_that_waits_are_answered(store: TCPStore) -> None:
    client = odd_client(store.port)
    for key in (b"first", b"second", b"first"):
        client.sendall(request("get", [key], [], b"60"))
    store.set("second", "2")
    store.set("first", "1")
    heard = bytearray()
    for expected in (b"1", b"2", b"1"):
        while (length := protocol.frame_length(heard)) is None or len(heard) < length:
            heard += client.recv(1 << 16)
        assert protocol.unpack(heard[frames.LENGTH : length]) == [b"ok", expected]
        del heard[:length]
    client.close()


def test_a_client_that_takes_no_answers_is_not_answered_without_end(store: TCPStore) -> None:
    """It asks for a large value again and again; what waits for it stays one answer."""
    store.set("large", bytes(4_000_000))
    client = odd_client(store.port)
    client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1 << 12)
    client.sendall(request("get", [b"large"], []) * 200)
    assert store.add("n", 1) == 1 and store.add("n", 1) == 2
    served = store._server
    assert served is not None
    assert all(one.left < 5_000_000 for one in list(served._clients.values()))
    client.close()


def test_what_goes_wrong_inside_ends_one_client(store: TCPStore, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also what nobody has foreseen."""

    def broken(*_: Any) -> list[bytes]:
        raise ZeroDivisionError("a bug")

    monkeypatch.setitem(key_values.OPERATIONS, "check", broken)
    client = odd_client(store.port)
    client.sendall(request("check", [b"k"], []))
    assert client.recv(100) == b""
    client.close()
    assert store.add("n", 1) == 1


@pytest.mark.parametrize("duration", [nan, "1", None, True, b"1"])
def test_a_timeout_that_is_none(duration: Any) -> None:
    one = HashStore()
    with pytest.raises((TypeError, ValueError), match="a timeout"):
        one.set_timeout(duration)


@pytest.mark.parametrize("duration", [inf, 1e308, 10**400, -1, -inf, 0.0, 1e-300])
def test_timeouts_of_any_size(store: TCPStore, tmp_path: Path, duration: float) -> None:
    for one in (HashStore(), store, FileStore(tmp_path / "store")):
        one.set("k", "v")
        one.wait(["k"], duration)
        one.set_timeout(duration)
        assert one.get("k") == b"v"
        if duration <= 1:
            with pytest.raises(StoreTimeout):
                one.get("nothing")
        one.close()


def records() -> list[bytes]:
    user = b"host boot 1 1 abcd"
    sayings = [
        StoreRequest("user.join", [], [], 0.0),
        StoreRequest("user.join", [], [b"\xff"], 0.0),
        StoreRequest("user.join", [], [b"one two"], 0.0),
        StoreRequest("user.join", [], [b"h b -1 0 x"], 0.0),
        StoreRequest("user.join", [], [b"h b " + b"9" * 5000 + b" 0 x"], 0.0),
        StoreRequest("user.leave", [], [user], 0.0),
        StoreRequest("user.leave", [], [], 0.0),
        StoreRequest("explode", [], [], 0.0),
        StoreRequest("set", ["k"], [], 0.0),
        StoreRequest("add", [], [], 0.0),
        StoreRequest("queue_pop", ["k"], [], 0.0),
        StoreRequest("queue_pop_now", ["k"], [], 0.0),
        StoreRequest("get", ["nothing"], [], 0.0),
        StoreRequest("add", ["k"], [b"x"], 0.0),
    ]
    return [*map(protocol.pack_request, sayings), request("set", [b"\xff"], [b""]), b"no frame" * 9]


@pytest.mark.parametrize("number", range(len(records())))
def test_a_file_with_anything_in_it(tmp_path: Path, number: int) -> None:
    """A record that no store wrote is named, twice alike, and nothing else is raised."""
    path = tmp_path / "store"
    first = FileStore(path)
    first.set("k", "v")
    with path.open("ab") as file:
        file.write(records()[number])
    for _ in range(2):
        with pytest.raises(DistStoreError, match="is damaged at byte"):
            first.get("k")
    with pytest.raises(DistStoreError, match="is damaged at byte"):
        FileStore(path)
    first.close()


@pytest.mark.parametrize("seed", range(20))
def test_a_file_with_changed_bytes(tmp_path: Path, seed: int) -> None:
    path, chance = tmp_path / "store", random.Random(seed)
    first = FileStore(path)
    for number in range(5):
        first.set(f"k{number}", b"%d" % number)
    written = bytearray(path.read_bytes())
    for _ in range(3):
        written[chance.randrange(len(written))] ^= 1 << chance.randrange(8)
    path.write_bytes(written)
    try:
        second = FileStore(path, timeout=0)
        second.multi_get(["k0", "k4"])
        second.close()
    except DistError:
        pass  # it says so; any other exception fails this test
    first.close()
