"""A signal handler that raises, at every point of a send or a receive where Python lets it.

CPython runs handlers between two calls. So the exception is raised at the k-th call, or return from
a C function, within our transports, for every k until a run comes to its end undisturbed. Afterwards
messages are whole and in order, or the peer is lost with words that say so; nothing else, and nobody
waits for ever.
"""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from types import FrameType
from typing import Any, Final

import pytest

from tests.transports.brokers import Broker
from tests.transports.ends import Desk
from transports import registry
from transports.clock import SYSTEM
from transports.contract import Transport
from transports.errors import PeerLost
from transports.stores.store import HashStore
from transports.stores.tcp import TCPStore

OURS: Final = f"{os.sep}transports{os.sep}"
SHORT, LONG = bytes(range(256)), os.urandom(700_000)  # more than rings and sockets hold at once


class Handler(Exception):
    """What a signal handler raises."""


class Injection:
    """Raises at the k-th point; `is_used` tells whether it came to that."""

    def __init__(self, at: int) -> None:
        self.at, self.points, self.is_used = at, 0, False

    def __enter__(self) -> Injection:
        sys.setprofile(self._look)
        return self

    def __exit__(self, *_: object) -> None:
        sys.setprofile(None)

    def _look(self, frame: FrameType, event: str, function: Any) -> None:
        if event not in ("call", "c_return") or OURS not in frame.f_code.co_filename:
            return
        if f"{os.sep}tests{os.sep}" in frame.f_code.co_filename or self.is_used:
            return
        if function is os.open or frame.f_code.co_qualname.startswith("Handle."):
            return  # a file's number that nobody has yet: nothing could close that file
        self.points += 1
        if self.points == self.at:
            self.is_used = True
            raise Handler


@contextmanager
def pair(address: str) -> Iterator[tuple[list[Transport], list[Desk]]]:
    """Two ranks of one process. The thread that connects is the rank, so it stays as long as that."""
    store, desks = HashStore(), [Desk(), Desk()]
    ends = [registry.find(address)(rank, 2, address) for rank in range(2)]
    is_there, is_over = threading.Event(), threading.Event()

    def live() -> None:
        ends[1].connect(store, desks[1], 60)
        is_there.set()
        is_over.wait()

    life = threading.Thread(target=live)
    life.start()
    ends[0].connect(store, desks[0], 60)
    is_there.wait()
    yield ends, desks
    is_over.set()
    for end in ends:
        end.close()
    life.join()


def drive(end: Transport, until: Callable[[], bool]) -> None:
    deadline = SYSTEM.deadline(60)
    while not until():
        assert not deadline.is_over(), "nothing more came, and nobody said why"
        end.progress(0.01, until)


def all_right(desk: Desk, src: int, expected: list[bytes]) -> None:
    """What is there is whole and in order; and all of it, unless the peer is lost."""
    got = [data for _, data in desk.whole]
    assert got == expected[: len(got)]
    if len(got) < len(expected):
        lost = desk.lost_ranks[src]
        assert "interrupted" in str(lost) or "ended" in str(lost) or "closed" in str(lost)


def points(act: Callable[[int], Injection], step: int) -> int:
    """Interrupt at one point after the other until there are none left; how many there were."""
    at = 1
    while act(at).is_used:
        at += step
    return at


# What a call had just opened when it was interrupted is closed by the collector, which says so; and
# the handler may raise in a finalizer, where Python can only mention it.
pytestmark = [
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
]
ADDRESSES = ["tcp://", "file://{}", "file://{}?mode=append"]


@pytest.fixture(scope="module")
def broker() -> Iterator[Broker]:
    made = Broker("embedded")
    yield made
    made.stop()


@pytest.mark.parametrize("payload", [SHORT, LONG], ids=["short", "long"])
@pytest.mark.parametrize("address", ADDRESSES)
def test_a_receive(address: str, payload: bytes, tmp_path: Path) -> None:
    def act(at: int) -> Injection:
        with pair(address.format(tmp_path / str(at))) as (ends, desks):
            return receive_interrupted(ends, desks, payload, at)

    assert points(act, 1 if payload is SHORT else 7) > 10


def interrupted_over(address: str, payload: bytes, is_send: bool, step: int) -> int:
    interrupted = send_interrupted if is_send else receive_interrupted

    def act(at: int) -> Injection:
        with pair(address) as (ends, desks):
            return interrupted(ends, desks, payload, at)

    return points(act, step)


@pytest.mark.slow
@pytest.mark.parametrize(("payload", "step"), [(SHORT, 2), (LONG, 7)], ids=["short", "long"])
@pytest.mark.parametrize("is_send", [True, False], ids=["send", "receive"])
def test_over_mqtt(is_send: bool, payload: bytes, step: int, broker: Broker) -> None:
    assert interrupted_over(broker.address, payload, is_send, step) > 10


@pytest.mark.parametrize(("payload", "step"), [(SHORT, 1), (LONG, 31)], ids=["short", "long"])
@pytest.mark.parametrize("is_send", [True, False], ids=["send", "receive"])
def test_over_tls(is_send: bool, payload: bytes, step: int) -> None:
    certificate = Path(__file__).with_name("job.pem")
    assert interrupted_over(f"tcp://?certificate={certificate}", payload, is_send, step) > 10


def receive_interrupted(ends: list[Transport], desks: list[Desk], payload: bytes, at: int) -> Injection:
    sent = [payload, b"the next", payload[::-1], b"the last"]

    def send() -> None:
        with suppress(PeerLost):
            for one in sent:
                ends[1].send(0, b"h", one)

    sender = threading.Thread(target=send)
    sender.start()
    with suppress(Handler), Injection(at) as injection:
        drive(ends[0], lambda: len(desks[0].whole) == 4)
    drive(ends[0], lambda: len(desks[0].whole) == 4 or 1 in desks[0].lost_ranks)
    all_right(desks[0], 1, sent)
    if 1 in desks[0].lost_ranks:  # then the peer hears of it, and nobody can send
        drive(ends[1], lambda: 0 in desks[1].lost_ranks)
        with pytest.raises(PeerLost):
            ends[0].send(1, b"h", b"too late")
    sender.join(300)
    assert not sender.is_alive()
    return injection


@pytest.mark.parametrize("payload", [SHORT, LONG], ids=["short", "long"])
@pytest.mark.parametrize("address", [*ADDRESSES, "queue://"])
def test_a_send(address: str, payload: bytes, tmp_path: Path) -> None:
    def act(at: int) -> Injection:
        with pair(address.format(tmp_path / str(at))) as (ends, desks):
            return send_interrupted(ends, desks, payload, at)

    assert points(act, 1 if payload is SHORT else 7) > 4


def send_interrupted(ends: list[Transport], desks: list[Desk], payload: bytes, at: int) -> Injection:
    after = [b"the next", b"the last"]

    def is_enough() -> bool:
        return 0 in desks[1].lost_ranks or [data for _, data in desks[1].whole][-2:] == after

    receiver = threading.Thread(target=lambda: drive(ends[1], is_enough))
    receiver.start()
    came = False
    with suppress(Handler), Injection(at) as injection:
        ends[0].send(1, b"h", payload)
        came = True
    try:
        for one in after:
            ends[0].send(1, b"h", one)
    except PeerLost as lost:
        assert not came and ("interrupted" in str(lost) or "broke off" in str(lost))
    receiver.join(300)
    assert not receiver.is_alive() and is_enough()
    got = [data for _, data in desks[1].whole]
    assert got in ([], after, [payload], [payload, *after])
    assert 0 in desks[1].lost_ranks or got[-2:] == after
    return injection


def test_a_command_of_a_store() -> None:
    """A connection in the middle of an exchange is not used again; the command is done once, or not."""
    master = TCPStore("localhost", 0, is_master=True)
    store = TCPStore("localhost", master.port)
    least = most = 0

    def act(at: int) -> Injection:
        nonlocal least, most
        most += 1
        with suppress(Handler), Injection(at) as injection:
            assert least < store.add("n", 1) <= most
            least += 1
        assert least <= store.add("n", 0) <= most and store.check(["n"]) is True
        return injection

    assert points(act, 1) > 10
    store.close()
    master.close()
