"""A member's requests cost a store what their bytes are worth, and cost the others little time.

The members hold the job's key, and all that they ask for is legal. Judged are the processor time and the memory of the
store's process, by bytes, and whether an honest client beside them gets right answers.
"""

from __future__ import annotations

import socket
from collections.abc import Callable, Iterator
from random import Random
from typing import Any

import pytest

from tests.transports.members import ATTACKS, PATIENCE, Attack, Process, cost_of, request
from transports import frames
from transports.clock import SystemClock
from transports.errors import DistStoreError, StoreTimeout
from transports.keys import job_key
from transports.stores import protocol, server
from transports.stores.protocol import StoreRequest
from transports.stores.served_client import ServedClient
from transports.stores.server import StoreServer
from transports.stores.store import HashStore
from transports.stores.tcp import TCPStore


@pytest.fixture(scope="module")
def of_all() -> Iterator[tuple[Process, str]]:
    """One process for all attacks, and its key."""
    yield (made := Process()), job_key(server.KEY).hex()
    made.close()


@pytest.fixture
def process(of_all: tuple[Process, str], monkeypatch: pytest.MonkeyPatch) -> Process:
    made, key = of_all
    for place in ("tests.transports.members", "transports.stores.tcp"):
        monkeypatch.setattr(f"{place}.job_key", lambda name: bytes.fromhex(key))
    return made


SCALE = {"wait_for_many": 2.0, "wait_beside_sets": 1.0, "keys_come_one_by_one": 1.0}


@pytest.mark.parametrize("attack", ATTACKS, ids=lambda one: one.__name__)
def test_a_member_costs_what_its_bytes_are_worth(attack: Attack, process: Process) -> None:
    bill = cost_of(attack, process, Random(1), SCALE.get(attack.__name__, 0.3))
    assert process.is_alive() and bill.is_fair, bill
    assert bill.slowest < PATIENCE


class Unhurried(SystemClock):
    """Its time is set by hand, and its threads do not run: the test makes each step itself."""

    def __init__(self) -> None:
        self.instant = 0

    def now(self) -> int:
        return self.instant

    def start(self, function: Callable[[], None], name: str) -> Any:
        return self

    def join(self, timeout: float | None = None) -> None: ...


class Stepped:
    """A server that the test lets make its steps."""

    def __init__(self) -> None:
        self.clock = Unhurried()
        self.server = StoreServer(socket.create_server(("127.0.0.1", 0)), None, self.clock)
        self.ours: list[socket.socket] = []

    def member(self, buffer: int = 0) -> socket.socket:
        """A client that has proved itself."""
        ours, theirs = socket.socketpair()
        if buffer:
            ours.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, buffer)
            theirs.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, buffer)
        theirs.setblocking(False)
        client = ServedClient(theirs)
        self.server._clients[theirs.fileno()] = client
        self.server._settle(client)
        self.ours.append(ours)
        return ours

    def served(self, ours: socket.socket) -> ServedClient:
        """The server's side of it."""
        return list(self.server._clients.values())[self.ours.index(ours)]

    def steps(self, most: int) -> None:
        for _ in range(most):
            if self.server._poll.poll(0) or not self.server._patience():
                self.server._step()

    def close(self) -> None:
        for one in self.ours:
            one.close()
        self.server._is_closing = True
        self.server._serve()


@pytest.fixture
def stepped() -> Iterator[Stepped]:
    made = Stepped()
    yield made
    made.close()


def answered(ours: socket.socket) -> list[bytes]:
    """The next answer, if it has come; an empty list if not."""
    try:
        data = ours.recv(1 << 20, socket.MSG_DONTWAIT)
    except BlockingIOError:
        return []
    return protocol.unpack(data[frames.LENGTH : protocol.frame_length(data)])


def test_an_honest_request_waits_for_a_few_of_each_other_member(stepped: Stepped) -> None:
    """Twenty have thousands of requests under way. In the step in which an honest one comes, it is answered."""
    for _ in range(20):
        stepped.member().sendall(request("add", ["n"], [b"1"]) * 1000)
    stepped.steps(1)
    honest = stepped.member()
    before = int(stepped.server._key_values.do("get", ["n"], [])[0])
    honest.sendall(request("num_keys"))
    stepped.steps(2)
    assert answered(honest) == [b"ok", b"1"]
    after = int(stepped.server._key_values.do("get", ["n"], [])[0])
    assert 0 < after - before <= 2 * 20 * server.IN_A_ROW


@pytest.mark.parametrize("long", ["wait", "set", "check"])
def test_in_one_step_one_long_request_is_carried_out(stepped: Stepped, long: str) -> None:
    keys = [f"k{number}" for number in range(3000)]
    data = request(long, keys, [b""] * len(keys) if long == "set" else [], 600)
    members = [stepped.member() for _ in range(8)]
    for member in members:
        member.sendall(data)
    stepped.steps(1)  # it has come, and the first one of them is carried out
    honest = stepped.member()
    honest.sendall(request("num_keys"))
    begun = [one.asked is not None or not one.has_turn for one in stepped.server._clients.values()]
    assert sum(begun[:8]) == 1
    stepped.steps(1)
    assert answered(honest)[:1] == [b"ok"]
    stepped.steps(10)
    assert not stepped.server._long


def test_answers_that_are_not_taken_hold_no_copy_of_a_value(stepped: Stepped) -> None:
    value = bytes(3_000_000)
    stepped.server._key_values.do("set", ["k"], [value])
    members = [stepped.member(1 << 12) for _ in range(5)]
    for member in members:
        member.sendall(request("get", ["k"] * 30))
    stepped.steps(50)
    for client in stepped.server._clients.values():
        assert client.left > 80_000_000
        own = [piece for piece in client.to_say if piece.obj is not value]
        assert sum(map(len, own)) < 1000


def test_who_takes_no_answer_is_dismissed(stepped: Stepped, caplog: pytest.LogCaptureFixture) -> None:
    """One that waits for a key is not, however long it waits."""
    stepped.server._key_values.do("set", ["k"], [bytes(1 << 20)])
    silent, waits = stepped.member(1 << 12), stepped.member()
    silent.sendall(request("get", ["k"]) * 5)
    waits.sendall(request("get", ["nothing"], seconds=10_000))
    stepped.steps(10)
    stepped.server._alarm.send(b"!")  # its poll returns at once from now on
    stepped.clock.instant = round((server.STALL - 1) * 1e12)
    stepped.server._step()
    assert len(stepped.server._clients) == 2
    stepped.clock.instant = round((server.STALL + 2) * 1e12)
    stepped.server._step()
    (left,) = stepped.server._clients.values()
    assert left.asked is not None and "left 1" in caplog.text, "it says who was dismissed, and why"


def test_who_leaves_is_forgotten(stepped: Stepped) -> None:
    """Its waiting, its time, its row and its file."""
    keys = [f"k{number}" for number in range(300)]
    for number in range(10):
        member = stepped.member()
        data = request(("wait", "get")[number % 2], keys, seconds=600)
        member.sendall(data if number % 3 else data + data + data[:40])
    stepped.steps(20)
    assert len(stepped.server._waiting._asked) == 10
    for member in stepped.ours:
        member.close()
    stepped.steps(40)
    made = stepped.server
    assert not made._clients and not made._timers._ends and not (made._short or made._long)
    assert not made._waiting._asked


def test_who_waits_and_says_too_much_is_seen_to_leave(stepped: Stepped) -> None:
    """Nothing more of it is read, so its end is not read, either."""
    member = stepped.member()
    member.sendall(request("get", ["nothing"], seconds=1e300))
    stepped.steps(1)
    member.setblocking(False)
    while True:
        try:
            member.send(bytes(1 << 16))
        except BlockingIOError:
            break
        stepped.steps(1)
    steps = 0
    while stepped.server._poll.poll(0) and steps < 5:
        stepped.server._step()
        steps += 1
    assert steps < 5, "a client that is not read wakes the server again and again"
    member.close()
    stepped.steps(3)
    assert not stepped.server._clients


def test_more_keys_than_a_request_may_have() -> None:
    keys = ["k"] * (protocol.MAX_FIELDS + 1)
    with pytest.raises(DistStoreError, match="Ask several times"):
        protocol.pack_request(StoreRequest("check", keys, [], 0.0))
    fields = [b"check", b"0", b"%d" % len(keys), *map(str.encode, keys)]
    with pytest.raises(frames.FrameError, match="at most"):
        protocol.unpack_request(protocol.pack(fields)[frames.LENGTH :])
    at_most = StoreRequest("check", keys[1:], [], 0.0)
    assert protocol.unpack_request(protocol.pack_request(at_most)[frames.LENGTH :]) == at_most


def test_an_answer_that_is_too_long_is_not_put_together() -> None:
    """A thousand times one value: that it is too long is known before a byte is copied."""
    value = bytes(1 << 20)
    answer = protocol.unpack(protocol.pack_answer([value] * 100_000)[frames.LENGTH :])
    assert answer[0] == b"error" and b"too many for a store" in answer[1]


@pytest.mark.parametrize("operation", ["wait", "get"])
def test_a_timeout_of_many_keys_names_each(operation: str) -> None:
    master = TCPStore("127.0.0.1", 0, is_master=True, wait_for_workers=False)
    for store in (HashStore(), master):
        store.set("there", "1")
        keys = [*(f"k{number}" for number in range(5000)), "there"]
        with pytest.raises(StoreTimeout) as late:
            store._do(operation, keys, (), 0.0)
        assert (late.value.missing, late.value.present) == (keys[:-1], ["there"])
    master.close()
