"""Ranks of one host talk through one file: a mapped one of rings, or append-only ones.

    rank 0  ──►  ring 0 → 1  ──►  rank 1        one ring for each ordered pair; sender and receiver
    rank 0  ◄──  ring 1 → 0  ◄──  rank 1        never wait for each other's locks (see `rings`)

`file:///path`, in any folder, or `file://` for a place in memory (see `places`). The ranks find the
file through the store and prove it with the job's key (`settling`, `meeting`); once all have it
open its name is taken away, so nothing is left even if all are killed. Where mappings cannot be
trusted, on a network file system or between hosts, or with `?mode=append`, each pair has an
append-only file instead (`logs`). Behind the rings lies a `board`, for what many ranks read.

Nobody can be woken: whoever waits looks, gives its core away between two looks, and at last sleeps
between them (`clock.Backoff`). Now and then it looks whether the peers still live (`watch`).
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Protocol

from transports.board import SLOTS, Board
from transports.clock import ASIDE, LONGEST_NAP, PICO, SYSTEM, Backoff, Clock, Deadline, Thread
from transports.contract import Buffer, Inbox, Store, Transport, flat
from transports.errors import Damaged, PeerLost, TransportClosed
from transports.identity import Identity
from transports.keys import world_key
from transports.shared_file import mounts, places, settling
from transports.shared_file.logs import Logs
from transports.shared_file.meeting import Meeting
from transports.shared_file.rings import Rings
from transports.shared_file.watch import BEAT, Watch
from transports.turn import Turn

CLOSED = "it closed its transport"
AMID = ", amid a message to us"
GLANCE = PICO // 5  # between two looks whether the peers live
LOOKS, YIELDS = 40, 400  # before a rank that waits sleeps; an answer comes within a few looks
# At a word of the board one looks faster. Not for longer: two ranks may have been put on one core even
# where there are two, and then each waits for the other to give it away.
BOARD_LOOKS, BOARD_YIELDS = 400, 400
STRIDE = (
    16  # sends, or calls of progress, after which it looks at them although it never had to wait
)


class Outlet(Protocol):
    """The writing end of a pair of ranks."""

    @property
    def is_pending(self) -> bool: ...
    @property
    def is_amid(self) -> bool: ...
    def offer(self, header: bytes, payload: memoryview) -> bool: ...
    def push(self) -> bool: ...
    def end(self) -> None: ...


class Inlet(Protocol):
    """The reading end of a pair of ranks."""

    src: int
    is_ended: bool

    @property
    def is_amid(self) -> bool: ...
    def drain(self, inbox: Inbox) -> int: ...


class Medium(Protocol):
    """All ends of one rank."""

    @property
    def outlets(self) -> Sequence[Outlet]: ...
    @property
    def inlets(self) -> Sequence[Inlet]: ...
    def has_news(self) -> bool: ...
    def has_moved(self) -> bool: ...
    def forget(self) -> None: ...
    def beat(self) -> None: ...
    def pulse(self, peer: int) -> int: ...
    def close(self) -> None: ...


class FileTransport(Transport):
    """One rank's end."""

    scheme = "file"
    _inbox: Inbox
    _medium: Medium
    _held: Meeting
    _watch: Watch
    _process: int

    def __init__(
        self,
        rank: int,
        world_size: int,
        address: str = "",
        clock: Clock = SYSTEM,
        key: bytes | None = None,
    ) -> None:
        super().__init__(rank, world_size, address, clock)
        self._place = places.parse(self.address)
        self._key = key
        self._prepare()

    def _prepare(self) -> None:
        """What any medium needs that has to be looked at."""
        clock = self.clock
        self._state = "not connected"
        self._driving = Turn(clock)  # one thread reads
        self._sending = [
            Turn(clock) for _ in range(self.world_size)
        ]  # one message at a time to each
        self._deliveries = self._reported = self._calls = self._vain = 0
        self._lost: dict[int, PeerLost] = {}
        self._given_up: dict[int, str] = {}  # by a thread that does not read; told by one that does
        self._outlets: Sequence[Outlet] = ()
        self._inlets: Sequence[Inlet] = ()  # of peers that are not lost
        self._next_glance = 0
        self._looks, self._yields, self._nap = LOOKS, YIELDS, LONGEST_NAP
        self._heart: Thread | None = None
        self._resting = clock.condition()  # where the heart waits between two beats
        self._board: Board | None = None
        self._rings: Rings | None = None

    # -- connecting -------------------------------------------------------------------------

    def connect(self, store: Store, inbox: Inbox, timeout: float | None = None) -> None:
        key = world_key("file transport") if self._key is None else self._key
        self._inbox = inbox
        party = settling.Party(
            self.rank, self.world_size, self.address, self._place, key, store, self.clock,
            self.clock.deadline(timeout),
        )  # fmt: skip
        try:
            self._held = settling.settle(party, self._enter)
        except BaseException:
            if self._outlets:
                self._medium.close()
            raise
        self._process, self._state = os.getpid(), "open"
        if self._watch.has_to_beat():
            self._heart = self.clock.start(self._beat, f"heart of rank {self.rank}")

    def _enter(self, held: Meeting, identities: Sequence[Identity]) -> None:
        """Open our ends, before anybody is told that we are there."""
        self._watch = Watch(held.terms.generation, self.rank, identities, self.clock)
        cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
        if held.is_folder:
            hosts = {identity.boot for identity in identities}
            is_far = len(hosts) > 1 or mounts.is_network(mounts.kind_of(held.path))
            self._medium = Logs(held, self.rank, is_far, self.clock)
            self._looks, self._yields = 0, 0 if is_far else YIELDS // 4
            self._nap = 10 * LONGEST_NAP if is_far else LONGEST_NAP
        else:
            rings = Rings(held, self.rank, self._place.board)
            self._medium, self._board = rings, rings.board
            if rings.board is not None:
                rings.board.agree(self.uses_board)
            has_cores = self.world_size <= (cores or 1)
            self._looks = LOOKS if has_cores else LOOKS // 10
            if rings.board is not None:
                rings.board.spin.set(BOARD_LOOKS if has_cores else BOARD_LOOKS // 40, BOARD_YIELDS)
                if not has_cores:  # the more a rank does while it has one, the fewer turns it takes
                    rings.board.ahead = SLOTS - 1
            rings.spin.set(BOARD_LOOKS if has_cores else BOARD_LOOKS // 40, YIELDS // 10)
            self._rings = rings
        if self._watch.has_neighbours():  # a thread that spins would keep the others from running
            self._looks = self._yields = 0
            if self._board is not None:
                self._board.spin.set(0, 0)
            if self._rings is not None:
                self._rings.spin.set(0, 0)
        self._outlets, self._inlets = self._medium.outlets, tuple(self._medium.inlets)

    def _beat(self) -> None:
        with self._resting:
            while self._state == "open":
                self._medium.beat()
                self._resting.wait(BEAT)

    # -- sending ----------------------------------------------------------------------------

    def send(self, dst: int, header: bytes, payload: Buffer) -> None:
        view = flat(header, payload)
        if not 0 <= dst < self.world_size:
            raise ValueError(f"there is no rank {dst} in a world of {self.world_size}")
        turn = self._sending[dst]
        turn.try_take() or turn.take(self.clock.deadline(None))
        try:
            if self._state != "open":
                raise self._not_open()
            if dst in self._lost:
                raise PeerLost(dst, self._lost[dst].reason)
            outlet = self._outlets[dst]
            if not outlet.offer(header, view):
                self._push(dst, outlet)
            self._calls += 1
            if self._calls % STRIDE == 0:  # whoever only sends shall notice deaths as well
                self._make_way()
        except Damaged as damage:
            raise self._give_up(dst, f"what it wrote cannot be true: {damage}") from damage
        except BaseException:
            if self._state == "open" and self._outlets[dst].is_amid:
                self._give_up(dst, "a message to it broke off, and cannot be taken back")
            raise
        finally:
            turn.give()

    def _push(self, dst: int, outlet: Outlet) -> None:
        """Deliver what arrives, until there was room for the whole message."""
        pause = Backoff(self._looks, self._yields, self._nap)
        deadline = self.clock.deadline(self.patience)
        while True:
            moved = outlet.push()
            if not outlet.is_pending:
                return
            if moved:
                deadline = self.clock.deadline(self.patience)
            elif deadline.is_over():
                raise self._give_up(dst, f"it has taken nothing for {self.patience} s")
            if self._make_way() or moved:
                pause.reset()
            else:
                pause.pause(deadline.left())
            if self._state != "open":
                raise self._not_open()
            if dst in self._lost:
                raise PeerLost(dst, self._lost[dst].reason)

    def _make_way(self) -> bool:
        """One round of reading, if nobody else reads; True if anything came."""
        if not self._driving.try_take():
            return False
        try:
            if self._state != "open":
                raise self._not_open()
            before = self._deliveries
            moved = self._look()
            self._glance()
            return moved or self._deliveries != before
        finally:
            self._driving.give()

    def _give_up(self, dst: int, reason: str) -> PeerLost:
        """Nothing sensible can be sent to `dst` any more. Whoever reads tells the inbox."""
        error = self._lost.setdefault(dst, PeerLost(dst, reason))
        if self._state == "open":
            self._outlets[dst].end()
            self._given_up[dst] = reason
        return error

    # -- receiving --------------------------------------------------------------------------

    def progress(self, timeout: float | None, done: Callable[[], bool] | None = None) -> bool:
        seen = self._reported if done is None else self._deliveries
        if not self._driving.try_take():
            deadline = self.clock.deadline(timeout)
            if not self._wait_beside(deadline, seen, done):
                return self._report()
            timeout = deadline.left()
        try:
            if self._state != "open":
                raise self._not_open()
            self._calls += 1
            if timeout == 0 or self._calls % STRIDE == 0:
                self._glance()
            self._look()
            if self._deliveries == seen and timeout != 0 and not (done is not None and done()):
                self._wait(timeout, seen)
            return self._report()
        finally:
            self._driving.give()

    def fetch(
        self, src: int, front: bytes, into: memoryview, is_next: Callable[[], bool]
    ) -> bytes | None:
        rings = self._rings
        if rings is None or not self._driving.try_take():
            return None
        try:
            self._calls += 1
            if self._state != "open" or self._calls % STRIDE == 0 or not is_next():
                return None
            return rings.inlets[src].fetch(front, into, rings.spin)
        finally:
            self._driving.give()

    def board(self) -> Board | None:
        board = self._board
        return board if board is not None and board.is_wanted() else None

    def watch(self, timeout: float | None, done: Callable[[], bool]) -> None:
        """Look, deliver what comes, yield, sleep: until `done` says yes."""
        deadline, pause = (
            self.clock.deadline(timeout),
            Backoff(self._looks, self._yields, self._nap),
        )
        while not done() and not deadline.is_over():
            if self._make_way():
                pause.reset()
            else:
                pause.pause(deadline.left())
            if self._state != "open":
                raise self._not_open()

    def _wait_beside(self, deadline: Deadline, seen: int, done: Callable[[], bool] | None) -> bool:
        """Another thread reads: wait for our turn (True), or for something to be delivered."""

        def unless() -> bool:
            return (
                self._state != "open" or self._deliveries != seen or (done is not None and done())
            )

        is_ours = self._driving.take(deadline, unless)
        if not is_ours and self._state != "open":
            raise self._not_open()
        return is_ours

    def _report(self) -> bool:
        found, self._reported = self._deliveries > self._reported, self._deliveries
        return found

    def _wait(self, timeout: float | None, seen: int) -> None:
        """Look until something has been delivered since `seen`."""
        for _ in range(self._looks):
            if self._look() and self._deliveries != seen:
                return
        self._vain += 1
        yields = self._yields if self._vain % ASIDE else 0
        deadline, pause = self.clock.deadline(timeout), Backoff(0, yields, self._nap)
        while self._deliveries == seen and not deadline.is_over():
            if self._look():
                pause.reset()
            else:
                pause.pause(deadline.left())
            if self._state != "open":
                raise self._not_open()
            self._glance()

    def _look(self) -> bool:
        """Deliver what has come; False if certainly nothing has."""
        if not self._medium.has_news() and not self._given_up:
            return False
        inlet = None
        try:
            for inlet in self._inlets:
                self._deliveries += inlet.drain(self._inbox)
                if inlet.is_ended:
                    self._lose(inlet.src, CLOSED + AMID * inlet.is_amid)
        except (Damaged, OSError) as error:
            self._medium.forget()  # the others have not been looked at
            assert inlet is not None, "only an inlet says so"
            self._lose(inlet.src, _broken(error))
        except BaseException:
            self._medium.forget()
            raise
        for peer in list(self._given_up):
            reason = self._given_up.pop(peer)
            if any(inlet.src == peer for inlet in self._inlets):
                self._lose(peer, reason)
        return self._medium.has_moved()

    def _glance(self) -> None:
        """Now and then: look whether the peers still live."""
        now = self.clock.now()
        if now < self._next_glance:
            return
        self._next_glance = now + GLANCE
        for inlet in self._inlets:
            if inlet.src == self.rank:
                continue
            how = self._watch.death_of(inlet.src, self._medium.pulse)
            if how is not None:
                with suppress(Damaged, OSError):  # what it wrote before it died
                    self._deliveries += inlet.drain(self._inbox)
                reason = CLOSED if inlet.is_ended else how
                self._lose(inlet.src, reason + AMID * inlet.is_amid)

    def _lose(self, src: int, reason: str) -> None:
        self._inlets = tuple(inlet for inlet in self._inlets if inlet.src != src)
        error = self._lost.setdefault(src, PeerLost(src, reason))
        self._inbox.lost(src, error)
        self._deliveries += 1

    def _not_open(self) -> TransportClosed:
        return TransportClosed(f"the file transport of rank {self.rank} is {self._state}")

    # -- closing ----------------------------------------------------------------------------

    def close(self) -> None:
        with self._resting:
            was_open, self._state = self._state == "open", "closed"
            self._resting.notify_all()
        if not was_open or os.getpid() != self._process:  # a forked child is not the rank
            return
        turns = (self._driving, *self._sending)  # who has one sees the state, and leaves
        for turn in turns:
            turn.wake()
            turn.take(self.clock.deadline(None))
        try:
            if self._heart is not None:
                self._heart.join()
            for outlet in self._outlets:
                outlet.end()
            self._outlets = self._inlets = ()
            self._board = self._rings = None
            self._medium.close()
            self._part()
        finally:
            for turn in turns:
                turn.give()

    def _part(self) -> None:
        """Let go of what all ranks hold."""
        self._held.leave()

    def __repr__(self) -> str:
        lost = f", lost {sorted(self._lost)}" if self._lost else ""
        return (
            f"<{type(self).__name__} rank {self.rank} of {self.world_size}, {self._state}, "
            f"{self._deliveries} deliveries{lost}>"
        )


def _broken(error: Damaged | OSError) -> str:
    if isinstance(error, Damaged):
        return f"what it wrote cannot be true: {error}"
    return f"its file cannot be read: {error}"
