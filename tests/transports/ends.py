"""Two ends of one file in one process, and a desk that writes down what arrives."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from transports.clock import SYSTEM
from transports.shared_file import signed_file
from transports.shared_file.logs import LogInlet, LogOutlet, Logs, lay_out
from transports.shared_file.ring import RingReader, RingWriter
from transports.shared_file.rings import Rings
from transports.shared_file.signed_file import SignedFile

KEY = b"the key of this test"


class Desk:
    """An inbox. Every third sink has no space."""

    def __init__(self) -> None:
        self.begun: list[tuple[bytes, int]] = []
        self.whole: list[tuple[bytes, bytes]] = []
        self.lost_ranks: dict[int, Exception] = {}

    def sink(self, src: int, header: bytes, nbytes: int) -> Sink:
        self.begun.append((header, nbytes))
        return Sink(self, header, nbytes)

    def lost(self, src: int, reason: Exception) -> None:
        assert src not in self.lost_ranks
        self.lost_ranks[src] = reason


class Sink:
    def __init__(self, desk: Desk, header: bytes, nbytes: int) -> None:
        self.desk, self.header, self.nbytes = desk, header, nbytes
        self.data, self.filled = bytearray(), 0
        self.room = bytearray(nbytes) if nbytes < 1 << 30 else bytearray()
        self._finish()

    def write(self, piece: memoryview) -> None:
        self.room[self.filled : self.filled + len(piece)] = piece
        self.advance(len(piece))

    def space(self) -> memoryview | None:
        return None if len(self.desk.begun) % 3 == 0 else memoryview(self.room)[self.filled :]

    def advance(self, nbytes: int) -> None:
        self.filled += nbytes
        assert self.filled <= self.nbytes
        self._finish()

    def _finish(self) -> None:
        if self.filled == self.nbytes:
            self.desk.whole.append((self.header, bytes(self.room)))


def terms(mode: str, room: int, world_size: int = 2, generation: bytes = b"") -> signed_file.Terms:
    chance = generation or os.urandom(16)
    return signed_file.Terms(mode, world_size, room, chance, "a boot", "process 1 on host")


@contextmanager
def kept(held: SignedFile) -> Iterator[SignedFile]:
    """A hold for the time of the block."""
    try:
        yield held
    finally:
        held.leave()


@contextmanager
def rings(folder: Path, room: int) -> Iterator[tuple[Rings, Rings]]:
    """What ranks 0 and 1 see of one mapped file."""
    with kept(signed_file.make(folder / "world", terms("rings", room), KEY)) as held:
        ends = Rings(held, 0), Rings(held, 1)
        yield ends
        for end in ends:
            end.close()


@contextmanager
def logs(folder: Path, room: int, is_far: bool = False) -> Iterator[tuple[Logs, Logs]]:
    """What ranks 0 and 1 see of one folder."""
    with kept(signed_file.make(folder / "world", terms("append", room), KEY)) as held:
        if not is_far:
            lay_out(held.path, 2)
        ends = Logs(held, 0, is_far, SYSTEM), Logs(held, 1, is_far, SYSTEM)
        yield ends
        for end in ends:
            end.close()


def by_turns(
    outlet: RingWriter | LogOutlet, inlet: RingReader | LogInlet, messages: list[tuple[bytes, bytes]], drains: list[int]
) -> None:
    """All messages come over, whole and in order, whenever the reader looks: before the n-th one is
    sent it does `drains[n]` times, and while one does not fit."""
    desk = Desk()
    for (header, payload), count in zip(messages, drains, strict=True):
        for _ in range(count):
            inlet.drain(desk)
        outlet.offer(header, memoryview(payload))
        while outlet.is_pending:
            inlet.drain(desk)
            outlet.push()
    inlet.drain(desk)
    assert desk.whole == messages
    assert not inlet.is_amid and not inlet.is_ended
    outlet.end()
    assert inlet.drain(desk) == 0 and inlet.is_ended
