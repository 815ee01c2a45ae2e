"""Handles of what was begun and may not be over: `Work`, and the workers that carry it out.

    irecv          the receive is posted at once; a thread that waits for it drives the transport
    isend          what is short is sent at once, what is long by the group's sender
    async_op=True  by the group's worker, in the order of the calls

A worker is one thread, started through the clock when there is something to do and ended when there
has been nothing for a while.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from contextvars import ContextVar
from datetime import timedelta
from threading import get_ident  # noqa: TID251 - tells threads apart; nothing waits
from typing import Any, Final, Protocol

from minitorch_dist.distributed.exceptions import DistTimeout
from minitorch_dist.distributed.mail.receives import PostedReceive
from minitorch_dist.distributed.world import World
from minitorch_dist.futures import Future
from transports.clock import Thread

LINGER: Final = 1.0  # seconds for which a worker waits for more


def seconds_of(timeout: timedelta | float | None) -> float | None:
    """A timeout as torch takes it; none, 0 and less mean the default."""
    if isinstance(timeout, timedelta):
        timeout = timeout.total_seconds()
    return timeout if timeout is not None and timeout > 0 else None


class Work:
    """Something that is done, or will be. This class is what is done already.

    Args:
        world: The world that it belongs to; a program gets a Work from a call and makes none.
        output: The tensors that it fills.

    Example:
        >>> def overlapped():
        ...     x = torch.ones(4)
        ...     work = dist.all_reduce(x, async_op=True)
        ...     sim.compute("1ms")  # something else meanwhile
        ...     work.wait()
        ...     return work.is_completed(), x.sum().item()
        >>> sim.run(overlapped, 2).results
        [(True, 8.0), (True, 8.0)]
    """

    def __init__(self, world: World, output: Any = None) -> None:
        self._world, self._output = world, output
        self._error: BaseException | None = None
        self._is_known = False  # to the caller: that it is over
        self._future: Future[Any] | None = None

    @property
    def is_virtual(self) -> bool:
        """Whether it goes on in virtual time."""
        return self._world.clock.is_virtual

    def wait(self, timeout: timedelta | float | None = None) -> bool:
        """True once it is done; raises what went wrong, or DistTimeout."""
        self._finish(seconds_of(timeout))
        self._hear()
        if self._error is not None:
            raise self._error
        return True

    def _finish(self, timeout: float | None) -> None:
        """Return when it is over, one way or the other."""

    def is_completed(self) -> bool:
        """Whether it is over. Asking also delivers what has arrived."""
        return True

    def _answer(self, is_over: Callable[[], bool]) -> bool:
        """Whether it is over. A simulation may let one ask again, as long as one does not know:
        nobody can tell when it will be."""
        if not self._is_known:
            answers = self._world.answers
            if is_over() if answers is None else answers(is_over):
                self._hear()
        return self._is_known

    def _hear(self) -> None:
        self._is_known = True
        if self._world.unfinished is not None:
            self._world.unfinished.heard()

    def is_success(self) -> bool:
        """Whether it is over and nothing went wrong."""
        return self.is_completed() and self._error is None

    def exception(self) -> BaseException | None:
        """The error, if it is over and failed."""
        return self._error if self.is_completed() else None

    def result(self) -> list[Any]:
        """The tensors that were written, once they are."""
        self.wait()
        return list(self._output) if isinstance(self._output, list | tuple) else [self._output]

    def synchronize(self) -> None:
        self.wait()

    def source_rank(self) -> int:
        """The group rank that a receive from anybody got its message from."""
        raise RuntimeError(
            "sourceRank() may only be called on work objects that correspond to a recv or recv-from-any call."
        )

    def get_future(self) -> Future[Any]:
        """A future of the tensors that will be written."""
        if self._future is None:
            self._foresee(Future(condition=self._world.clock.condition))
        assert self._future is not None
        return self._future

    def _foresee(self, future: Future[Any]) -> None:
        """Keep `future`, and see to it that it is completed."""
        self._future = future
        if self.is_completed():
            self._settle(future)
        else:  # somebody has to drive
            self._world.start(lambda: self._finish_and_settle(future), "future")

    def _finish_and_settle(self, future: Future[Any]) -> None:
        try:
            self._finish(None)
        except Exception as error:
            future.set_exception(error)
        else:
            self._settle(future)

    def _settle(self, future: Future[Any]) -> None:
        if isinstance(self._error, Exception):
            future.set_exception(self._error)
        else:
            output = self._output
            future.set_result(output if isinstance(output, list) else [output])

    def __repr__(self) -> str:
        return f"<minitorch_dist.distributed.distributed_c10d.Work, {self._state()}>"

    # Read by `World.unfinished`, which looks on while exploring.

    @property
    def output(self) -> Any:
        return self._output

    @property
    def is_awaited(self) -> bool:
        """Whether the caller has heard that it is over, or will hear it from a future."""
        return self._is_known or self._future is not None

    def is_done(self) -> bool:
        """Whether it is over, without asking for it."""
        return True

    def is_written(self) -> bool:
        """Whether its tensors have counted the write."""
        return self.is_done()

    def queue(self) -> Any:
        """Operations with an equal one are carried out in the order in which they began."""
        return self

    def describe(self) -> str:
        return repr(self)

    def _state(self) -> str:
        return "done" if self._error is None else f"failed: {self._error}"


class Receiving(Work):
    """A posted receive. The first who notices that it is over calls `noted`, and `arrived` if its
    message is there."""

    def __init__(
        self,
        world: World,
        receive: PostedReceive,
        timeout: float | None,
        output: Any,
        ranks: tuple[int, ...],
        arrived: Callable[[], None] | None = None,
        noted: Callable[[], None] | None = None,
    ) -> None:
        super().__init__(world, output)
        self._receive, self._timeout, self._ranks = receive, timeout, ranks
        self._arrived, self._noted, self._is_seen = arrived, noted, False

    def _finish(self, timeout: float | None) -> None:
        receive, mailbox = self._receive, self._world.mailbox
        if not receive.done and not mailbox.is_there(receive):
            limit = self._timeout if timeout is None else timeout
            mailbox.wait(receive, mailbox.clock.deadline(limit))
        self._note()

    def _note(self) -> None:
        self._error = self._receive.error
        noted, self._noted = self._noted, None
        if noted is not None:
            noted()
        if self._error is None and not self._is_seen:
            self._is_seen = True
            self._world.mailbox.traffic.came[self._receive.sender] += 1
        arrived, self._arrived = self._arrived, None
        if arrived is not None and self._error is None:
            arrived()

    def is_completed(self) -> bool:
        if not self._receive.done:
            self._world.mailbox.poll()
        if not self._answer(self._receive.is_done):
            return False
        self._note()
        return True

    def is_done(self) -> bool:
        return self._receive.done

    def is_written(self) -> bool:
        return self._arrived is None

    def queue(self) -> Any:
        receive = self._receive
        return self if receive.source is None else (receive.source, receive.match)

    def describe(self) -> str:
        source = self._receive.source
        return f"i{self._receive.owner.describe()} from {'anybody' if source is None else f'rank {source}'}"

    @property
    def octets(self) -> memoryview:
        """The message, once it is there."""
        return self._receive.octets

    def source_rank(self) -> int:
        self.wait()
        return self._ranks.index(self._receive.sender)

    def _state(self) -> str:
        return repr(self._receive)


def _nothing() -> None:
    """The rest of a task."""


class Described(Protocol):
    """An operation or a message, which says what it is."""

    def describe(self) -> str: ...


class WorkerTask(Work):
    """Something that a worker does, for an operation or a message."""

    def __init__(self, world: World, function: Callable[[], Any], doing: Described, output: Any) -> None:
        super().__init__(world, output)
        self._function, self._doing = function, doing
        self._changed = world.clock.condition(doing.describe)
        self._is_over = False

    def run(self) -> None:
        """Called by the worker."""
        error: BaseException | None = None
        function, self._function = self._function, _nothing  # it holds what it reads and writes
        try:
            function()
        except BaseException as caught:
            error = caught
        del function
        with self._changed:
            self._error = error
            self._is_over = True
            future = self._future
            self._changed.notify_all()
        if future is not None:
            self._settle(future)

    def _finish(self, timeout: float | None) -> None:
        recorder = self._world.mailbox.recorder
        if recorder is not None:
            with recorder.waiting(self._doing, None):
                return self._wait(timeout)
        return self._wait(timeout)

    def _wait(self, timeout: float | None) -> None:
        if self.is_virtual or not self.group or timeout is not None:
            return self._wait_for_worker(timeout)
        traffic, me = self._world.mailbox.traffic, get_ident()
        traffic.callers.add(me)
        traffic.awaited[me] = self.group
        try:
            return self._wait_for_worker(None)
        finally:
            del traffic.awaited[me]

    def is_done(self) -> bool:
        return self._is_over

    def queue(self) -> Any:
        return self.group or self

    def describe(self) -> str:
        return self._doing.describe()

    @property
    def group(self) -> int:
        """The number of the group whose operation it is; 0 of a message."""
        channel = getattr(self._doing, "channel", None)
        return 0 if channel is None else int(channel.number)

    def _wait_for_worker(self, timeout: float | None) -> None:
        if self._is_over:
            return
        deadline = self._world.clock.deadline(timeout)
        with self._changed:
            while not self._is_over:
                if deadline.is_over():
                    raise DistTimeout(
                        f"rank {self._world.rank} waited {timeout} s{self._world.clock.of_time} for {self._doing.describe()}, which is "
                        "still going on; wait again, or longer"
                    )
                self._changed.wait(deadline.left())

    def is_completed(self) -> bool:
        if not self._is_over:
            self._world.mailbox.poll()
        return self._answer(lambda: self._is_over)

    def _foresee(self, future: Future[Any]) -> None:
        with self._changed:
            self._future = future  # not before: `run` would settle it, too
            if not self._is_over:
                return  # `run` will settle it
        self._settle(future)

    def _state(self) -> str:
        return super()._state() if self._is_over else f"going on: {self._doing.describe()}"


_me: ContextVar[TaskThread | None] = ContextVar("worker", default=None)


class TaskThread:
    """Carries out tasks, one after the other."""

    def __init__(self, world: World, name: str) -> None:
        self._world, self._name = world, name
        self._changed = world.clock.condition(f"something for {name} to do")
        self._tasks: deque[WorkerTask] = deque()
        self._thread: Thread | None = None
        self._is_busy = self._is_closed = False

    def is_idle(self) -> bool:
        return not self._tasks and not self._is_busy

    def submit(self, task: WorkerTask) -> WorkerTask:
        with self._changed:
            if self._is_closed:
                raise RuntimeError(f"{self._name} was closed with its process group")
            self._tasks.append(task)
            if self._thread is None:
                self._thread = self._world.start(self._run, self._name)
            self._changed.notify_all()
        return task

    def finish(self, seconds: float) -> bool:
        """Wait until all tasks are done; whether they are."""
        deadline = self._world.clock.deadline(seconds)
        with self._changed:
            while not self.is_idle() and not deadline.is_over():
                self._changed.wait(deadline.left())
            return self.is_idle()

    def is_me(self) -> bool:
        """Whether the calling thread is this worker: a callback of one of its tasks."""
        return _me.get() is self

    def _run(self) -> None:
        _me.set(self)
        while True:
            with self._changed:
                self._is_busy = False
                if not self._tasks:
                    self._changed.notify_all()  # for `finish`
                if not self._tasks and not self._is_closed:
                    self._changed.wait(LINGER)
                if not self._tasks:
                    self._thread = None
                    return
                task = self._tasks.popleft()
                self._is_busy = True
            self._world.mailbox.traffic.workers[get_ident()] = task.group
            task.run()
            del task  # its results live as long as its caller wants

    def close(self) -> Thread | None:
        """Take no more tasks. The thread, if there is one, ends after those that it has."""
        with self._changed:
            self._is_closed = True
            self._changed.notify_all()
            return self._thread

    def __repr__(self) -> str:
        return f"<Worker {self._name!r}, {len(self._tasks)} tasks wait>"
