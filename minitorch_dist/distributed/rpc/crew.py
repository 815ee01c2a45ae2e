"""The threads of a worker: one drives the transport, the others run what was asked for.

A function runs in the very thread that received its request, as long as it is short: nothing is
handed over, and an answer goes out some microseconds after the question came in. Meanwhile nobody
drives. So a watchman (see `watch`) looks every millisecond, and when the same function is still
running he lets another thread drive.

    driver    progress ─► request ─► run it here ─► progress …
    watchman                 "still that one?" ─► another thread is the driver now

Functions run on stacks of their own: never on top of a function that waits. (Else one that waits with
a lock in its hand would meet another that wants the lock, in the same thread, for ever.) So a thread
of the user, or a function, that waits for an answer drives as well, but what it receives for others
goes to the crew.

`size` functions run at once. One that waits for an answer does not count, and others begin in its
place: calls may nest to any depth, in circles, whatever `size` is.

Under virtual time a switch costs nothing: the driver hands over every request, and nobody watches.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from contextvars import ContextVar
from typing import Final, Protocol

from transports.clock import Clock, Thread

Job = Callable[[], None]
NAP: Final = 0.001  # seconds between two looks, while there is something to look at
LONG_NAP: Final = 0.016


class Ship(Protocol):
    """What the crew needs of the agent."""

    is_open: bool
    clock: Clock

    def listen(self, timeout: float | None) -> None:
        """Drive the transport until something has arrived, or for so many seconds."""

    def next_job(self) -> Job | None:
        """Deal with what has arrived; the first function that is to be run, if any."""

    def start(self, function: Job, name: str) -> Thread: ...
    def alert(self) -> None:
        """Let the watchman look."""


is_ours: ContextVar[bool] = ContextVar("is_ours", default=False)  # a thread of some worker
_runs_job: ContextVar[bool] = ContextVar("runs_job", default=False)


class Crew:
    """Starts threads as they are needed, and ends them."""

    def __init__(self, ship: Ship, size: int, is_real: bool) -> None:
        self._ship, self.size, self._is_real = ship, size, is_real
        self._changed = ship.clock.condition("something to do")
        self._jobs: deque[Job] = deque()
        self._threads: list[Thread] = []
        self._idle = 0
        self._driver: object = None
        self.running = 0  # functions that run and do not wait
        self.waiting = 0  # functions that wait for an answer
        self.most = 0  # threads there ever were at once
        self.inline = 0  # which function the driver runs, counted; 0 if none
        self._count = 0
        self.visits = 0  # of threads of others that waited, and so drove
        self._guests: list[object] = []  # who waits and drives now
        self._is_deep = False  # the driver sleeps as long as a guest drives
        self._is_awaited = False  # somebody waits until we are quiet
        self._is_closed = False

    def begin(self) -> None:
        self._add()

    # ------------------------------------------------------------------------------------- jobs

    def give(self, job: Job) -> None:
        """Let a thread of ours run it."""
        with self._changed:
            self._jobs.append(job)
            self._see_to_it()

    def _see_to_it(self) -> None:
        """If a job can begin, let somebody begin it. The lock is held."""
        if self._jobs and self.running < self.size and not self._is_closed:
            if self._idle:
                self._changed.notify_all()
            else:
                self._add()

    def _add(self) -> None:
        number = len(self._threads) + 1
        self._threads = [thread for thread in self._threads if thread.is_alive()]
        self._threads.append(self._ship.start(self._live, f"rpc worker thread {number}"))
        self.most = max(self.most, len(self._threads))

    def is_quiet(self) -> bool:
        """Whether nothing runs, waits or is going to run."""
        return not (self._jobs or self.running or self.waiting)

    def wait_until_quiet(self, seconds: float | None) -> bool:
        """Wait until nothing runs any more; False if that takes longer."""
        deadline = self._ship.clock.deadline(seconds)
        with self._changed:
            self._is_awaited = True
            while not self.is_quiet() and not deadline.is_over() and not self._is_closed:
                self._changed.wait(deadline.left())
            self._is_awaited = False
            return self.is_quiet()

    def _live(self) -> None:
        me = object()
        while True:
            job = None
            with self._changed:
                while not self._is_closed:
                    if self._jobs and self.running < self.size:
                        job = self._jobs.popleft()
                        self.running += 1
                        break
                    if self._driver is None and self._ship.is_open:
                        self._driver = me
                        break
                    if self._idle > self.size:  # deep nesting is over
                        return
                    self._idle += 1
                    self._changed.wait()
                    self._idle -= 1
                if self._is_closed:
                    return
            if job is not None:
                self._run(job)
            else:
                self._drive(me)

    def _run(self, job: Job) -> None:
        """Run a job that was counted as running."""
        token = _runs_job.set(True)
        try:
            job()
        finally:
            _runs_job.reset(token)
            with self._changed:
                self.running -= 1
                if self._is_awaited:
                    self._changed.notify_all()

    # ---------------------------------------------------------------------------------- driving

    def _drive(self, me: object) -> None:
        ship, visits, nap = self._ship, self.visits, NAP
        while ship.is_open and self._driver is me:
            others = self._is_real and (self._guests or self.visits != visits)
            if others:  # drive, or did a moment ago
                nap = NAP if self.visits != visits else min(2 * nap, LONG_NAP)
                visits = self.visits
                self._doze(nap)
                if not self._guests:
                    ship.listen(0)
            else:
                nap = NAP
                ship.listen(None)
            while (job := ship.next_job()) is not None:
                if not self._is_real:
                    self.give(job)
                elif not self._run_here(me, job):
                    return
            if self._jobs and self.running < self.size:
                with self._changed:
                    self._see_to_it()
        with self._changed:
            if self._driver is me:
                self._driver = None

    def _doze(self, nap: float) -> None:
        with self._changed:
            self._is_deep = nap > NAP
            if not self._is_closed:
                self._changed.wait(nap)
            self._is_deep = False

    def _run_here(self, me: object, job: Job) -> bool:
        """Run a function in the driver's thread; False if another one drives now."""
        with self._changed:
            if self.running >= self.size:
                self._jobs.append(job)
                return True
            self.running += 1
            self._count += 1
            self.inline = self._count
        self._ship.alert()
        self._run(job)
        if self._driver is not me:
            return False
        self.inline = 0
        return True

    def relieve(self, number: int) -> bool:
        """The watchman finds the driver still in function `number`: let another thread drive."""
        with self._changed:
            if self._is_closed or self.inline != number or not number:
                return False
            self.inline, self._driver = 0, None
            if self._idle:
                self._changed.notify_all()
            else:
                self._add()
            return True

    # ---------------------------------------------------------------------------------- waiting

    def enter(self) -> bool:
        """The calling thread begins to wait for an answer; whether it runs a function of ours."""
        self.visit()
        if not _runs_job.get():
            return False
        with self._changed:
            self.running -= 1
            self.waiting += 1
            self._see_to_it()
        return True

    def leave(self, was_ours: bool) -> None:
        if was_ours:
            with self._changed:
                self.running += 1
                self.waiting -= 1
        if self._is_deep:
            with self._changed:
                self._changed.notify_all()

    def visit(self) -> None:
        """A thread of the user's makes calls, or waits for them: it will drive now and then."""
        if not is_ours.get():
            self.visits += 1

    def guest(self, it: object) -> None:
        self._guests.append(it)

    def depart(self, it: object) -> None:
        self._guests.remove(it)

    def close(self) -> None:
        """All threads end once they have nothing to run. Not called by one of them."""
        with self._changed:
            self._is_closed = True
            self._changed.notify_all()

    def join(self, seconds: float | None = None) -> None:
        deadline = self._ship.clock.deadline(seconds)
        for thread in self._threads:
            thread.join(deadline.left())

    def __repr__(self) -> str:
        return (
            f"<Crew of {len(self._threads)} threads: {self.running} of {self.size} functions run, "
            f"{self.waiting} wait, {len(self._jobs)} have to wait for a thread>"
        )


def runs_job() -> bool:
    """Whether the calling thread runs a function for a peer."""
    return bool(_runs_job.get())
