"""Media that wake nobody and have to be looked at: the reading, the waiting and the giving up.

    send        put the message into the outlet of its pair; while there is no room, read
    progress    look at the inlets, deliver what has come; look again, yield, sleep (`clock.Backoff`)
    glance      now and then ask whether the peers still live

A medium offers an outlet to each rank and an inlet from each. `file` and `mpi` are such media. A
transport over one of them connects, says which peers have died, and lets go of the medium.
"""

from __future__ import annotations

import os
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from typing import Protocol

from transports.clock import ASIDE, LONGEST_NAP, PICO, SYSTEM, Backoff, Clock, Thread, Yielding
from transports.contract import Buffer, Inbox, flat
from transports.driven import DrivenTransport, Turn
from transports.errors import CLOSED, Damaged, Interrupted, Lost, PeerLost

AMID = ", amid a message to us"
POLLS, YIELDS = 40, 400  # before a rank that waits sleeps; an answer comes within a few polls
STRIDE = 16  # sends or calls of progress, after which a rank glances although it never had to wait


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


class PolledMedium(ABC):
    """All ends of one rank. `outlets` and `inlets` have one for each."""

    def has_news(self) -> bool:
        """Whether the inlets have to be looked at."""
        return True

    def has_moved(self) -> bool:
        """Whether the last round of reading found anything."""
        return True

    def forget(self) -> None:  # noqa: B027 - most remember nothing that would be wrong then
        """A round of reading broke off: look again at everything."""

    @abstractmethod
    def close(self) -> None: ...


class PolledTransport(DrivenTransport):
    """One rank's end of such a medium."""

    glance = PICO // 5  # picoseconds between two polls whether the peers live
    _inbox: Inbox
    _medium: PolledMedium
    _process: int

    def __init__(self, rank: int, world_size: int, address: str = "", clock: Clock = SYSTEM) -> None:
        super().__init__(rank, world_size, address, clock)
        self._sending = [Turn(clock) for _ in range(world_size)]  # one message at a time to each
        self._calls = self._vain = 0
        self._given_up: dict[int, str] = {}  # by a thread that does not read; told by one that does
        self._outlets: Sequence[Outlet] = ()
        self._inlets: Sequence[Inlet] = ()  # of peers that are not lost
        self._next_glance = 0
        self._polls, self._yields, self._nap = POLLS, YIELDS, LONGEST_NAP
        self._yielding = Yielding()
        self._heart: Thread | None = None  # a thread that shows others that we live
        self._resting = clock.condition()  # where the heart waits between two beats

    def _begin(self) -> None:
        """The outlets and inlets are there, and so are all ranks."""
        self._process, self._state = os.getpid(), "open"

    @abstractmethod
    def _deaths(self) -> Mapping[int, str]:
        """The peers that have died, and how. Messages that they wrote before are still to be read."""

    @abstractmethod
    def _let_go(self) -> None:
        """Close the medium; all turns are taken."""

    # -- sending ----------------------------------------------------------------------------

    def send(self, dst: int, header: bytes, payload: Buffer) -> None:
        view = flat(header, payload)
        if not 0 <= dst < self.world_size:
            raise self._no_rank(dst)
        turn = self._sending[dst]
        turn.try_take() or turn.take(self.clock.deadline(None))
        try:
            if self._state != "open":
                self._demand_open()
            if dst in self._lost:
                raise PeerLost(dst, self._lost[dst].why)
            outlet = self._outlets[dst]
            if not outlet.offer(header, view):
                self._push(dst, outlet)
            self._calls += 1
            if self._calls % STRIDE == 0:  # a rank that only sends shall notice deaths as well
                self._make_way()
        except Damaged as damage:
            raise self._give_up(dst, f"what it wrote cannot be true: {damage}") from damage
        except BaseException:
            if self._state == "open" and self._outlets[dst].is_amid:
                self._give_up(dst, "a message to it broke off, and cannot be taken back")
            raise
        finally:
            turn.token.append(True)
            turn.tell()

    def _push(self, dst: int, outlet: Outlet) -> None:
        """Deliver what arrives, until there was room for the whole message."""
        pause = Backoff(self._polls, self._yields, self._nap, self._yielding)
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
                self._demand_open()
            if dst in self._lost:
                raise PeerLost(dst, self._lost[dst].why)

    def _make_way(self) -> bool:
        """One round of reading, if nobody else reads; True if anything came."""
        if not self._turn.try_take():
            return False
        try:
            if self._state != "open":
                self._demand_open()
            before = self._deliveries
            moved = self._poll()
            self._glance()
            return moved or self._deliveries != before
        finally:
            self._turn.token.append(True)
            self._turn.tell()

    def _give_up(self, dst: int, reason: str) -> PeerLost:
        """Nothing sensible can be sent to `dst` any more. The reading thread tells the inbox."""
        error = self._lost.setdefault(dst, PeerLost(dst, reason))
        if self._state == "open":
            self._outlets[dst].end()
            self._given_up[dst] = reason
        return error

    # -- receiving --------------------------------------------------------------------------

    def progress(self, timeout: float | None, done: Callable[[], bool] | None = None) -> bool:
        seen = self._reported if done is None else self._deliveries
        if not self._turn.try_take():
            deadline = self.clock.deadline(timeout)
            if not self._wait_beside(timeout, seen, done):
                return self._report()
            timeout = deadline.left()
        try:
            if self._state != "open":
                self._demand_open()
            self._calls += 1
            if timeout == 0 or self._calls % STRIDE == 0:
                self._glance()
            self._poll()
            if self._deliveries == seen and timeout != 0 and not (done is not None and done()):
                self._wait(timeout, seen)
            return self._report()
        finally:
            self._turn.token.append(True)
            self._turn.tell()

    def _wait(self, timeout: float | None, seen: int) -> None:
        """Look until something has been delivered since `seen`."""
        for _ in range(self._polls):
            if self._poll() and self._deliveries != seen:
                return
        self._vain += 1
        yields = self._yields if self._vain % ASIDE else 0
        deadline, pause = (self.clock.deadline(timeout), Backoff(0, yields, self._nap, self._yielding))
        while self._deliveries == seen and not deadline.is_over():
            if self._poll():
                pause.reset()
            else:
                pause.pause(deadline.left())
            if self._state != "open":
                self._demand_open()
            self._glance()

    def _poll(self) -> bool:
        """Deliver what has come; False if certainly nothing has."""
        if not self._medium.has_news() and not self._given_up:
            return False
        inlet = None
        try:
            for inlet in self._inlets:
                self._deliveries += inlet.drain(self._inbox)
                if inlet.is_ended:
                    self._lose(inlet.src, CLOSED.more(AMID * inlet.is_amid))
        except (Damaged, OSError) as error:
            self._medium.forget()  # the others have not been looked at
            assert inlet is not None, "only an inlet says so"
            if isinstance(error, Interrupted) and inlet.src != self.rank:
                self._outlets[inlet.src].end()  # so that the peer hears of it, too
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
        self._next_glance = now + self.glance
        for peer, how in self._deaths().items():
            inlet = next(inlet for inlet in self._inlets if inlet.src == peer)
            with suppress(Damaged, OSError):  # messages that it wrote before it died
                self._deliveries += inlet.drain(self._inbox)
            reason = CLOSED if inlet.is_ended else Lost("lost", how)
            self._lose(peer, reason.more(AMID * inlet.is_amid))

    def _lose(self, src: int, reason: str) -> None:
        self._inlets = tuple(inlet for inlet in self._inlets if inlet.src != src)
        error = self._lost.setdefault(src, PeerLost(src, reason))
        self._inbox.lost(src, error)
        self._deliveries += 1

    # -- closing ----------------------------------------------------------------------------

    def close(self) -> None:
        with self._resting:
            was_open, self._state = self._state == "open", "closed"
            self._resting.notify_all()
        if not was_open or os.getpid() != self._process:  # a forked child is not the rank
            return
        turns = (self._turn, *self._sending)  # a thread that has one sees the state, and leaves
        for turn in turns:
            turn.wake()
            turn.take(self.clock.deadline(None))
        try:
            if self._heart is not None:
                self._heart.join()
            for outlet in self._outlets:
                outlet.end()
            self._outlets = self._inlets = ()
            self._let_go()
        finally:
            for turn in turns:
                turn.give()


def _broken(error: Damaged | OSError) -> str:
    if isinstance(error, Interrupted):
        return str(error)
    if isinstance(error, Damaged):
        return f"what it wrote cannot be true: {error}"
    return f"its file cannot be read: {error}"
