"""The tools of one rank in a conformance check: its end of the world, an inbox that watches, a desk.

Everything here waits with a limit, `patience`, so that a transport which loses a message or hangs
leads to a sentence and not to silence.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, NoReturn

from transports.contract import Buffer, Transport
from transports.errors import StoreTimeout
from transports.stores.store import Store

FAILED = "failed"  # the key that says that a rank has complained
AFTER_ANOTHER = "another rank has failed"
_TABLE = bytes(range(251)) * 2


class Broken(AssertionError):
    """A line of the contract is not kept; the text says how."""


class NotOffered(Exception):
    """The transport does not declare what this check tries."""


@dataclass
class End:
    """One rank of a world under test, as its launcher sees it."""

    rank: int
    world_size: int
    make: Callable[[], Transport]  # a new transport of this rank, not connected
    store: Store  # shared by all ranks; works whenever all have been launched
    die: Callable[[], NoReturn]  # end this rank's thread or process at once, closing nothing


def pattern(seed: int, nbytes: int) -> bytes:
    """Bytes that tell where they come from: of period 251, beginning at a place of `seed`."""
    start = seed % 251
    row = _TABLE[start : start + 251]
    return (row * (nbytes // 251 + 1))[:nbytes]


def draw(bound: int, *key: int) -> int:
    """A number below `bound` that depends on the key alone."""
    return zlib.crc32(repr(key).encode()) % bound


class Tray:
    """An inbox that keeps what comes and complains about what may not be."""

    def __init__(self, has_space: Callable[[int], bool]) -> None:
        self.messages: dict[int, list[tuple[bytes, bytearray]]] = {}
        self.lost_ranks: list[int] = []
        self.complaints: list[str] = []
        self.open: dict[int, Tub] = {}
        self.has_space = has_space  # of the n-th message: whether its sink offers `space`
        self.begun = 0
        self.heard = 0  # messages that began, and pieces of them
        self.busy = False

    def sink(self, src: int, header: bytes, nbytes: int) -> Tub:
        self._enter(src)
        if src in self.open:
            self.complain(f"a message from rank {src} begins before the last one is complete")
        if type(header) is not bytes:
            self.complain(f"the header is a {type(header).__name__}, not bytes")
        tub = Tub(self, src, header, nbytes, self.has_space(self.begun))
        self.begun += 1
        self.heard += 1
        if nbytes:
            self.open[src] = tub
        else:
            self.complete(tub)
        self.busy = False
        return tub

    def lost(self, src: int, reason: Exception) -> None:
        self._enter(src)
        if src in self.lost_ranks:
            self.complain(f"lost({src}) was called twice; a peer is lost once")
        if not issubclass(type(reason), Exception):
            self.complain(f"lost({src}) got {reason!r} as its reason, not an exception")
        self.lost_ranks.append(src)
        self.busy = False

    def _enter(self, src: int) -> None:
        if self.busy:
            self.complain("two threads called the inbox at once")
        self.busy = True
        if src in self.lost_ranks:
            self.complain(f"rank {src} is heard of again after it was lost")

    def complain(self, text: str) -> None:
        if text not in self.complaints:
            self.complaints.append(text)

    def complete(self, tub: Tub) -> None:
        self.open.pop(tub.src, None)
        self.messages.setdefault(tub.src, []).append((tub.header, tub.data))

    def count(self, src: int) -> int:
        return len(self.messages.get(src, ()))


class Tub:
    """A sink that counts."""

    def __init__(self, tray: Tray, src: int, header: bytes, nbytes: int, has_space: bool) -> None:
        self.tray, self.src, self.header, self.has_space = tray, src, header, has_space
        self.data, self.filled = bytearray(nbytes), 0

    def write(self, piece: memoryview) -> None:
        if not isinstance(piece, memoryview) or piece.ndim != 1 or piece.format != "B":
            self.tray.complain("write got something else than a flat memoryview of bytes")
        end = self.filled + len(piece)
        if end <= len(self.data):
            self.data[self.filled : end] = piece
        self.advance(len(piece))

    def space(self) -> memoryview | None:
        return memoryview(self.data)[self.filled :] if self.has_space else None

    def advance(self, nbytes: int) -> None:
        self.filled += nbytes
        self.tray.heard += 1
        if self.filled > len(self.data):
            self.tray.complain(
                f"a message from rank {self.src} was announced with {len(self.data)} bytes, but "
                f"{self.filled} came"
            )
        elif self.filled == len(self.data):
            self.tray.complete(self)


class RankCheck:
    """One rank during one check."""

    def __init__(self, end: End, name: str, patience: float) -> None:
        self.rank, self.world_size = end.rank, end.world_size
        self.store, self.die, self.name, self.patience = end.store, end.die, name, patience
        self.make = end.make
        self.transport = end.make()
        self.clock = self.transport.clock
        self.tray = Tray(lambda n: n % 3 != 2)

    def peers(self) -> list[int]:
        return [peer for peer in range(self.world_size) if peer != self.rank]

    def connect(self) -> None:
        self.transport.connect(self.store, self.tray, self.patience)

    def demand(self, truth: bool, text: str) -> None:
        if not truth:
            raise Broken(text)

    def send(self, dst: int, seed: int, payload: Buffer, header: bytes | None = None) -> None:
        """Send in a thread beside us, so that a send which never returns can be told."""
        header = b"%d" % seed if header is None else header
        self.beside(lambda: self.transport.send(dst, header, payload), f"send to rank {dst}")

    def beside(self, act: Callable[[], object], what: str) -> None:
        """Run `act` in a thread; complain if it does not return."""
        changed, state = self.clock.condition(), dict[str, Any](over=False, error=None)

        def run() -> None:
            try:
                act()
            except Exception as error:
                state["error"] = error
            with changed:
                state["over"] = True
                changed.notify_all()

        deadline = self.clock.deadline(self.patience)
        thread = self.clock.start(run, "conformance")
        with changed:
            while not state["over"] and not deadline.is_over():
                changed.wait(deadline.left())
        self.demand(state["over"], f"{what} did not return within {self.patience} s")
        thread.join()
        if state["error"] is not None:
            raise state["error"]

    def until(self, done: Callable[[], bool], what: Callable[[], str]) -> None:
        """Drive the transport until `done`. `patience` seconds without a byte are silence; how long all
        of it takes is a matter of the machine."""
        deadline, heard = self.clock.deadline(self.patience), self.tray.heard
        while not done():
            if self.tray.heard != heard:
                deadline, heard = self.clock.deadline(self.patience), self.tray.heard
            self.demand(not deadline.is_over(), f"{what()}, and nothing came for {self.patience} s")
            self.transport.progress(deadline.left(), done)

    def receive(self, src: int, count: int) -> list[tuple[bytes, bytearray]]:
        """The first `count` messages from `src`."""
        tray = self.tray
        self.until(
            lambda: tray.count(src) >= count,
            lambda: f"only {tray.count(src)} of {count} messages from rank {src} had arrived",
        )
        return tray.messages.get(src, [])[:count]

    def meet(self, place: str, away: int = 0) -> None:
        """Return when every rank (but `away` of them) has come to this place."""
        place = f"meet/{place}"
        if self.store.add(place, 1) == self.world_size - away:
            self.store.set(f"{place}/all", b"")
        self.wait_for(f"{place}/all")

    def wait_for(self, key: str) -> None:
        """Return when another rank has set this key in the store. Nothing is delivered meanwhile."""

        def pause() -> None:
            with suppress(StoreTimeout):
                self.store.wait([key], 0.1)

        self._until_set(key, pause)

    def drive_for(self, key: str) -> None:
        """The same, while the transport delivers what comes and lets in those who reach us."""
        self._until_set(key, lambda: self.transport.progress(0.01))

    def _until_set(self, key: str, pause: Callable[[], object]) -> None:
        deadline = self.clock.deadline(3 * self.patience)
        while not self.store.check([key]):
            self.demand(not self.store.check([FAILED]), AFTER_ANOTHER)
            self.demand(not deadline.is_over(), f"the other ranks did not come to {key!r}")
            pause()
