"""Processes that are killed with -9 at any moment: nothing torn is delivered, and `lost` comes."""

from __future__ import annotations

import multiprocessing
import os
import signal
from functools import partial
from pathlib import Path

import pytest

from transports.clock import SYSTEM
from transports.errors import PeerLost
from transports.file import FileTransport
from transports.stores.store import PrefixStore, Store
from transports.stores.tcp import TCPStore

pytestmark = pytest.mark.slow
ADDRESSES = ["?ring=4096", "", "?mode=append", "?mode=append&segment=100000"]


def body(turn: int) -> bytes:
    """Message `turn`: its length and every byte of it follow from its number."""
    nbytes = (turn * 7919) % 30011
    return bytes([turn % 251]) * nbytes


class Desk:
    """Checks each message when it is whole."""

    def __init__(self) -> None:
        self.whole = 0
        self.lost_ranks: list[int] = []

    def sink(self, src: int, header: bytes, nbytes: int) -> Sink:
        return Sink(self, int(header), nbytes)

    def lost(self, src: int, reason: Exception) -> None:
        self.lost_ranks.append(src)


class Sink:
    def __init__(self, desk: Desk, turn: int, nbytes: int) -> None:
        assert turn == desk.whole and nbytes == len(body(turn))
        self.desk, self.turn, self.nbytes, self.data = desk, turn, nbytes, bytearray()
        self._finish()

    def write(self, piece: memoryview) -> None:
        self.data += piece
        self._finish()

    def space(self) -> None:
        return None

    def advance(self, nbytes: int) -> None:
        raise AssertionError("no space was offered")

    def _finish(self) -> None:
        assert len(self.data) <= self.nbytes
        if len(self.data) == self.nbytes:
            assert self.data == body(self.turn)
            self.desk.whole += 1


def send_for_ever(address: str, port: int, name: str) -> None:
    store = TCPStore("127.0.0.1", port, wait_for_workers=False)
    transport = FileTransport(1, 2, address)
    transport.connect(PrefixStore(name, store), Desk(), 60)
    turn = 0
    while True:
        transport.send(0, b"%d" % turn, body(turn))
        turn += 1


def receive_for_ever(address: str, port: int, name: str) -> None:
    store = TCPStore("127.0.0.1", port, wait_for_workers=False)
    transport = FileTransport(1, 2, address)
    transport.connect(PrefixStore(name, store), Desk(), 60)
    while True:
        transport.progress(None)


def meet(store: Store, name: str, address: str) -> tuple[FileTransport, Desk]:
    transport, desk = FileTransport(0, 2, address), Desk()
    transport.connect(PrefixStore(name, store), desk, 60)
    return transport, desk


@pytest.mark.parametrize("options", ADDRESSES)
def test_a_sender_is_killed(tmp_path: Path, options: str) -> None:
    address = f"file://{tmp_path}/job{options}"
    context = multiprocessing.get_context("spawn")
    store = TCPStore("127.0.0.1", 0, is_master=True, wait_for_workers=False)
    for round_, enough in enumerate([1, 7, 40, 131]):
        victim = context.Process(target=send_for_ever, args=(address, store.port, f"{round_}"))
        victim.start()
        transport, desk = meet(store, f"{round_}", address)
        deadline = SYSTEM.deadline(60)
        while desk.whole < enough:
            assert not deadline.is_over()
            transport.progress(1)
        assert victim.pid is not None
        os.kill(victim.pid, signal.SIGKILL)  # nobody waits for it yet: it stays as a zombie
        while not desk.lost_ranks:
            assert not deadline.is_over()
            transport.progress(1)
        transport.progress(0)
        assert desk.lost_ranks == [1] and desk.whole >= enough
        with pytest.raises(PeerLost, match=r"process \d+ on .* ended without close"):
            transport.send(1, b"0", b"")
        transport.close()
        victim.join()
        victim.close()
    store.close()
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("options", ADDRESSES)
def test_a_receiver_is_killed_while_we_send(tmp_path: Path, options: str) -> None:
    """Where a send waits for room it ends with PeerLost; where it need not, the next ones do."""
    address = f"file://{tmp_path}/job{options}"
    context = multiprocessing.get_context("spawn")
    store = TCPStore("127.0.0.1", 0, is_master=True, wait_for_workers=False)
    victim = context.Process(target=receive_for_ever, args=(address, store.port, "0"))
    victim.start()
    transport, desk = meet(store, "0", address)
    assert victim.pid is not None
    deadline, turn = SYSTEM.deadline(60), 0
    with pytest.raises(PeerLost):
        while not deadline.is_over():
            transport.send(1, b"%d" % turn, body(turn))
            if turn == 50:
                os.kill(victim.pid, signal.SIGKILL)
            if turn > 50:
                transport.progress(0.01, partial(bool, False))
            turn += 1
    assert desk.lost_ranks == [1]
    transport.close()
    victim.join()
    victim.close()
    store.close()
    assert list(tmp_path.iterdir()) == []
