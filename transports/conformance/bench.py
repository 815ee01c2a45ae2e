"""The tools of one rank in a conformance check: its end of the world, an inbox that watches, a desk.

Everything here waits with a limit, `patience`, so that a transport which loses a message or hangs
leads to a sentence and not to silence.
"""

from __future__ import annotations

import sys
import traceback
import zlib
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import NoReturn, TypeVar

from transports.clock import Thread
from transports.contract import Buffer, Transport
from transports.errors import Lost, StoreTimeout
from transports.stores.store import Store

FAILED = "failed"  # the key that says that a rank has complained
AFTER_ANOTHER = "another rank has failed"
LINGER = 0.0005  # seconds for which the inbox stays in one call, now and then
LOOK = 0.5  # seconds of silence between two looks whether another rank has failed
Found = TypeVar("Found")
Failed = TypeVar("Failed", bound=Exception)
_TABLE = bytes(range(251)) * 2


class Broken(AssertionError):
    """A line of the contract is not kept; the text says how."""


class Silent(Broken):
    """The same, and it may go on for ever: a call that does not return, or bytes that do not come."""


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

    def __init__(self, has_space: Callable[[int], bool], linger: Callable[[], None] = lambda: None) -> None:
        self.messages: dict[int, list[tuple[bytes, bytearray]]] = {}
        self.lost_ranks: list[int] = []
        self.reasons: dict[int, Lost] = {}
        self.complaints: list[str] = []
        self.open: dict[int, Tub] = {}
        self.has_space = has_space  # of the n-th message: whether its sink offers `space`
        self.linger = linger  # now and then within a call, so that a second thread has time to come
        self.begun = 0
        self.heard = 0  # messages that began, and pieces of them
        self.busy = False

    def sink(self, src: int, header: bytes, nbytes: int) -> Tub:
        with self.called(src):
            if src in self.open:
                self.complain(f"a message from rank {src} begins before the last one is complete", 3)
            if type(header) is not bytes:
                self.complain(f"the header is a {type(header).__name__}, not bytes", 3)
            tub = Tub(self, src, header, nbytes, self.has_space(self.begun))
            self.begun += 1
            self.heard += 1
            if self.begun % 8 == 0:
                self.linger()
            if nbytes:
                self.open[src] = tub
            else:
                self.complete(tub)
            return tub

    def lost(self, src: int, reason: Exception) -> None:
        with self.called(src):
            if src in self.lost_ranks:
                self.complain(f"lost({src}) was called twice; a peer is lost once", 5)
            if not issubclass(type(reason), Exception):
                self.complain(f"lost({src}) got {reason!r} as its reason, not an exception", 5)
            self.linger()
            self.reasons[src] = Lost.of(reason)
            self.lost_ranks.append(src)

    @contextmanager
    def called(self, src: int) -> Iterator[None]:
        """The inbox, or one of its sinks, is called: by one thread at a time, and not about the lost."""
        if self.busy:
            self.complain("two threads called the inbox at once")
        if src in self.lost_ranks:
            self.complain(f"rank {src} is heard of again after it was lost", 5)
        self.busy = True
        try:
            yield
        finally:
            self.busy = False

    def complain(self, text: str, line: int | None = None) -> None:
        """It may be seen in a check of another line, so it says which `line` of the contract is broken."""
        text += f" (line {line})" if line is not None else ""
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
        with self.tray.called(self.src):
            if not isinstance(piece, memoryview) or piece.ndim != 1 or piece.format != "B":
                self.tray.complain("write got something else than a flat memoryview of bytes", 3)
            end = self.filled + len(piece)
            if end <= len(self.data):
                self.data[self.filled : end] = piece
            self._count(len(piece))

    def space(self) -> memoryview | None:
        return memoryview(self.data)[self.filled :] if self.has_space else None

    def advance(self, nbytes: int) -> None:
        with self.tray.called(self.src):
            self._count(nbytes)

    def _count(self, nbytes: int) -> None:
        self.filled += nbytes
        self.tray.heard += 1
        if self.filled > len(self.data):
            announced = f"a message from rank {self.src} was announced with {len(self.data)} bytes"
            self.tray.complain(f"{announced}, but {self.filled} came", 3)
        elif self.filled == len(self.data):
            self.tray.complete(self)


class RankCheck:
    """One rank during one check."""

    def __init__(self, end: End, patience: float) -> None:
        self.rank, self.world_size = end.rank, end.world_size
        self.store, self.die, self.patience = end.store, end.die, patience
        self.transport = end.make()
        self.clock = self.transport.clock
        self.tray = Tray(lambda n: n % 3 != 2, self._linger)

    def _linger(self) -> None:
        if not self.clock.is_virtual:
            self.clock.sleep(LINGER)

    @property
    def right(self) -> int:
        return (self.rank + 1) % self.world_size

    @property
    def left(self) -> int:
        return (self.rank - 1) % self.world_size

    def peers(self) -> list[int]:
        return [peer for peer in range(self.world_size) if peer != self.rank]

    def connect(self) -> None:
        self.transport.connect(self.store, self.tray, self.patience)

    def demand(self, truth: bool, text: str) -> None:
        if not truth:
            raise Broken(text)

    def demand_error(self, kind: type[Failed], act: Callable[[], object], text: str) -> Failed:
        """The error of this kind that `act` has to raise; `text` is the complaint if it does not."""
        try:
            act()
        except kind as error:
            return error
        except Broken:
            raise
        except Exception as error:
            text += f"; it raised {type(error).__name__}: {error}"
        raise Broken(text)

    def send(self, dst: int, seed: int, payload: Buffer, header: bytes | None = None) -> None:
        """Send in a thread beside us, so that a send which never returns can be noticed."""
        header = b"%d" % seed if header is None else header
        self.beside(lambda: self.transport.send(dst, header, payload), f"send to rank {dst}")

    def beside(
        self, act: Callable[[], Found], what: str, silence: float | None = None, limit: float | None = None
    ) -> Found:
        """Run `act` in a thread; complain if it does not return. It may go on as long as something comes: `silence`
        seconds (or `patience`) without a byte are too many, and so are `limit` seconds in all."""
        changed, end = self.clock.condition(), Future[Found]()

        def run() -> None:
            try:
                end.set_result(act())
            except BaseException as error:
                end.set_exception(error)
            with changed:
                changed.notify_all()

        silence = self.patience if silence is None else silence
        thread = self.clock.start(run, "conformance")
        last, deadline = self.clock.deadline(limit), self.clock.deadline(silence)
        heard = self.tray.heard
        with changed:
            while not (end.done() or deadline.is_over() or last.is_over()):
                changed.wait(deadline.left())
                if self.tray.heard != heard:
                    deadline, heard = self.clock.deadline(silence), self.tray.heard
        if not end.done():
            seconds = limit if limit is not None and last.is_over() else silence
            raise Silent(f"{what} did not return within {seconds:g} s{_standing(thread)}")
        thread.join()
        return end.result()

    def until(self, done: Callable[[], bool], what: Callable[[], str]) -> None:
        """Drive the transport until `done`. `patience` seconds without a byte are silence; how long all
        of it takes is a matter of the machine."""
        deadline, heard = self.clock.deadline(self.patience), self.tray.heard
        while not done():
            if self.tray.heard != heard:
                deadline, heard = self.clock.deadline(self.patience), self.tray.heard
            elif deadline.is_over():
                raise Silent(f"{what()}, and nothing came for {self.patience} s")
            elif deadline.elapsed() >= LOOK:
                self.demand(not self.store.check([FAILED]), AFTER_ANOTHER)
            self.transport.progress(min(deadline.left() or 0.0, LOOK), done)

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
        deadline = self.clock.deadline(3 * self.patience)
        while not self.store.check([key]):
            self.demand(not self.store.check([FAILED]), AFTER_ANOTHER)
            if deadline.is_over():
                raise Silent(f"the other ranks did not come to {key!r}")
            with suppress(StoreTimeout):
                self.store.wait([key], 0.1)


def _standing(thread: Thread) -> str:
    """Where a thread of the system is, for a complaint; Python's own modules are left out."""
    frame = sys._current_frames().get(getattr(thread, "ident", None) or 0)
    library = f"{Path(traceback.__file__).parent}"
    while frame is not None and frame.f_code.co_filename.startswith(library):
        frame = frame.f_back
    if frame is None:
        return ""
    return f"; it is in {frame.f_code.co_name} at {Path(frame.f_code.co_filename).name}:{frame.f_lineno}"
