"""The threads of a worker: one drives the transport, the others run requested functions.

A short function runs in the very thread that received its request: nothing is handed over. Meanwhile no
thread drives the transport. So a deadline thread looks every millisecond. When the same function is still
running, it lets another thread drive.

    driver    progress ─► request ─► run it here ─► progress …
    deadline thread                 "still that one?" ─► another thread is the driver now

A function never runs on the stack of a function that waits. (If that one held a lock and the new one wanted
it, both would wait for ever.) A thread of the user, or a function, that waits for an answer drives as well.
But the requests that it receives go to the worker pool.

`size` functions run at once. A function that waits for an answer does not count, and others begin in its
place: calls may nest to any depth, in circles, with any `size`.

Under virtual time a switch of threads costs nothing: the driver hands over every request.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from contextvars import ContextVar
from functools import partial
from math import inf
from typing import Any, Final

from minitorch_dist.distributed.rpc.worker import Job, RpcWorker
from transports.clock import PICO, Thread

NAP: Final = 0.001  # seconds between two looks, while there is something to look at
LONG_NAP: Final = 0.016
# Entered by a thread that waits for an answer. A function that runs for a peer makes room for another one.
_alone: AbstractContextManager[None] = nullcontext()
how_to_wait: ContextVar[AbstractContextManager[None]] = ContextVar("how_to_wait", default=_alone)


class WorkerPool(AbstractContextManager[None]):
    """The threads of one worker: they are started when they are needed. A function that runs here enters the pool while it
    waits for an answer."""

    def __init__(self, worker: RpcWorker, size: int) -> None:
        self.worker, self.size, self._is_real = worker, size, worker.is_real
        self._changed = worker.clock.condition("something to do")
        self._jobs: deque[Job] = deque()
        self._threads: list[Thread] = []
        self._idle = 0
        self._driver: object = None
        self.running = 0  # functions that run and do not wait
        self.waiting = 0  # functions that wait for an answer
        self.inline = 0  # the number of the function that the driver runs; 0 if it runs none
        self._count = 0
        self.visits = 0  # how often a thread of the user made a call: it drives now and then
        self.guests: list[object] = []  # a future for each thread that drives while it waits
        self.is_deep = False  # the driver sleeps as long as such a thread drives
        self._is_awaited = False  # a thread waits until nothing runs
        self._is_closed = False
        self.deadlines = DeadlineThread(worker, self)

    def begin(self, next_instant: Callable[[], float], do_what_is_due: Callable[[], None]) -> None:
        self._add()
        self.deadlines.begin(next_instant, do_what_is_due)

    # ------------------------------------------------------------------------------------- jobs

    def give(self, job: Job) -> None:
        """Let a thread of the pool run a job."""
        with self._changed:
            self._jobs.append(job)
            self._begin_job()

    def _begin_job(self) -> None:
        """If a job can begin, let a thread begin it. The lock is held."""
        if self._jobs and self.running < self.size and not self._is_closed:
            self._call_thread()

    def _call_thread(self) -> None:
        """Wake an idle thread, or start one. The lock is held."""
        if self._idle:
            self._changed.notify_all()
        else:
            self._add()

    def _add(self) -> None:
        number = len(self._threads) + 1
        self._threads = [thread for thread in self._threads if thread.is_alive()]
        self._threads.append(self.worker.start(self._live, f"rpc worker thread {number}"))

    def is_quiet(self) -> bool:
        """Whether nothing runs, waits or is going to run."""
        return not (self._jobs or self.running or self.waiting)

    def wait_until_quiet(self, seconds: float | None) -> bool:
        """Wait until nothing runs any more. False if that takes longer than so many seconds."""
        deadline = self.worker.clock.deadline(seconds)
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
                    if self._driver is None and self.worker.is_open:
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
        token = how_to_wait.set(self)
        try:
            job()
        finally:
            how_to_wait.reset(token)
            with self._changed:
                self.running -= 1
                if self._is_awaited:
                    self._changed.notify_all()

    # ---------------------------------------------------------------------------------- driving

    def _drive(self, me: object) -> None:
        worker, visits, nap = self.worker, self.visits, NAP
        while worker.is_open and self._driver is me:
            others = self._is_real and (self.guests or self.visits != visits)
            if others:  # others drive, or did a moment ago
                nap = NAP if self.visits != visits else min(2 * nap, LONG_NAP)
                visits = self.visits
                self._doze(nap)
                if not self.guests:
                    worker.listen(0)
            else:
                nap = NAP
                worker.listen(None)
            while (job := worker.next_job()) is not None:
                if not self._is_real:
                    self.give(job)
                elif not self._run_here(me, job):
                    return
            if self._jobs and self.running < self.size:
                with self._changed:
                    self._begin_job()
        with self._changed:
            if self._driver is me:
                self._driver = None

    def _doze(self, nap: float) -> None:
        with self._changed:
            self.is_deep = nap > NAP
            if not self._is_closed:
                self._changed.wait(nap)
            self.is_deep = False

    def _run_here(self, me: object, job: Job) -> bool:
        """Run a function in the driver's thread. False if another thread drives now."""
        with self._changed:
            if self.running >= self.size:
                self._jobs.append(job)
                return True
            self.running += 1
            self._count += 1
            self.inline = self._count
        self.deadlines.alert()
        self._run(job)
        if self._driver is not me:
            return False
        self.inline = 0
        return True

    def relieve(self, number: int) -> None:
        """The deadline thread finds the driver still in function `number`: let another thread drive."""
        with self._changed:
            if self.inline == number and not self._is_closed:
                self.inline, self._driver = 0, None
                self._call_thread()

    # ---------------------------------------------------------------------------------- waiting

    def wake_driver(self) -> None:
        """No other thread drives any more: the driver need not sleep to the end of its nap."""
        with self._changed:
            self._changed.notify_all()

    def __enter__(self) -> None:
        """A function begins to wait: another one may begin in its place."""
        with self._changed:
            self.running, self.waiting = self.running - 1, self.waiting + 1
            self._begin_job()

    def __exit__(self, kind: Any, error: Any, trace: Any) -> None:
        with self._changed:
            self.running, self.waiting = self.running + 1, self.waiting - 1

    def close(self) -> None:
        """All threads end once they have nothing to run. Not called by one of them."""
        with self._changed:
            self._is_closed = True
            self._changed.notify_all()
        self.deadlines.close()

    def join(self, seconds: float | None = None) -> None:
        deadline = self.worker.clock.deadline(seconds)
        for thread in self._threads:
            thread.join(deadline.left())
        self.deadlines.join()

    def __repr__(self) -> str:
        return (
            f"<WorkerPool of {len(self._threads)} threads: {self.running} of {self.size} functions run, "
            f"{self.waiting} wait, {len(self._jobs)} have to wait for a thread>"
        )


QUIET: Final = 40  # looks without a slow function before the deadline thread sleeps


class DeadlineThread:
    """Ends calls whose time is over, and makes sure that some thread drives.

    It sleeps until the earliest deadline. While functions run in the driver's thread it also looks every
    millisecond whether one of them takes long. After some quiet looks it sleeps until it is alerted.
    """

    def __init__(self, worker: RpcWorker, pool: WorkerPool) -> None:
        self._worker, self._pool = worker, pool
        self._changed = worker.clock.condition("the next deadline")
        self._is_closed = self._is_attentive = False
        self.wakes = inf  # by itself, at this instant
        self._thread: Thread | None = None

    def begin(self, next_instant: Callable[[], float], do_what_is_due: Callable[[], None]) -> None:
        live = partial(self._live, next_instant, do_what_is_due)
        self._thread = self._worker.start(live, "rpc deadline thread")

    def alert(self) -> None:
        """A function begins in the driver's thread."""
        if not self._is_attentive:
            with self._changed:
                self._is_attentive = True
                self._changed.notify_all()

    def expect(self, instant: float) -> None:
        """Something will be due before it wakes by itself."""
        with self._changed:
            if instant < self.wakes:
                self.wakes = instant
                self._changed.notify_all()

    def _live(self, next_instant: Callable[[], float], do_what_is_due: Callable[[], None]) -> None:
        seen, quiet = 0, 0
        while True:
            do_what_is_due()
            with self._changed:
                if self._is_closed:
                    return
                self.wakes = inf  # a thread that makes a call now comes to the lock
                self.wakes = next_instant()
                left = None
                if self.wakes != inf:
                    left = max(0.0, (self.wakes - self._worker.clock.now()) / PICO)
                if self._is_attentive:
                    left = NAP if left is None else min(left, NAP)
                if left is None or left > 0:
                    self._changed.wait(left)
            if self._is_attentive:
                number = self._pool.inline
                if number and number == seen:
                    self._pool.relieve(number)
                quiet = 0 if number != seen else quiet + 1
                seen = number
                if quiet > QUIET:
                    self._is_attentive, quiet = False, 0
                    self._is_attentive = bool(self._pool.inline)  # one that began just now

    def close(self) -> None:
        with self._changed:
            self._is_closed = True
            self._changed.notify_all()

    def join(self) -> None:
        if self._thread is not None:
            self._thread.join()
