"""The parent's view of a loader's worker processes: start, ask, listen, notice deaths, end."""

from __future__ import annotations

import contextlib
import multiprocessing
import os
import signal
import weakref
from collections.abc import Sequence
from multiprocessing.connection import Connection, wait
from multiprocessing.context import BaseContext
from multiprocessing.process import BaseProcess
from typing import Any, NoReturn

from minitorch_dist.multiprocessing import ending, sigint
from minitorch_dist.utils.data.fetch import FetchSettings
from minitorch_dist.utils.data.worker import Assignment, Head, parent_ends, receive, run
from transports.clock import SYSTEM

_PATIENCE = 5.0  # seconds that a worker may go on computing after it is no longer needed
_STAGES: Sequence[ending.Stage] = ((None, _PATIENCE), (signal.SIGTERM, 1.0), (signal.SIGKILL, None))


class LoaderWorkers:
    """`count` worker processes that follow one recipe."""

    def __init__(
        self, recipe: FetchSettings, count: int, base_seed: int, init: Any, context: BaseContext | None
    ) -> None:
        made: Any = context or multiprocessing.get_context()
        forked = made.get_start_method() == "fork"
        self.processes: list[BaseProcess] = []
        self._tasks: list[Connection] = []
        self._answers: list[Connection] = []
        self.close = weakref.finalize(self, _end, self.processes, self._tasks, self._answers, os.getpid())
        try:
            for number in range(count):
                tasks_end, tasks = made.Pipe(duplex=False)
                answers, answers_end = made.Pipe(duplex=False)
                parent_ends.update((tasks, answers))
                self._tasks.append(tasks)
                self._answers.append(answers)
                job = Assignment(number, count, base_seed, recipe, init, forked)
                born = sigint.without_sigint(made.get_start_method())
                with tasks_end, answers_end, born:
                    process = made.Process(
                        target=run, args=(job, tasks_end, answers_end), name=f"DataLoader worker {number}", daemon=True
                    )
                    process.start()
                self.processes.append(process)
        except BaseException:
            self.close()
            raise

    def ask(self, worker: int, number: int, wanted: Any) -> None:
        """Give a worker a task; every task gets one answer."""
        try:
            self._tasks[worker].send((number, wanted))
        except OSError:  # its end of the pipe is gone
            self._report_death(self.processes[worker])

    def listen(self, timeout: float | None) -> tuple[int, Head, Any] | None:
        """The next answer of any worker, with the worker's number; None if none came in time."""
        sentinels = [process.sentinel for process in self.processes]
        ready = wait([*self._answers, *sentinels], timeout)
        for worker, answers in enumerate(self._answers):
            if answers in ready:
                try:
                    head, data = receive(answers)
                except (EOFError, OSError):  # it ended in the middle of a message
                    self._report_death(self.processes[worker])
                except BaseException:  # interrupted: the rest of the message would be misread
                    self.close()
                    raise
                return worker, head, data
        for process in self.processes:
            if process.sentinel in ready:
                self._report_death(process)
        return None

    def _report_death(self, process: BaseProcess) -> NoReturn:
        process.join(_PATIENCE)
        code = process.exitcode
        if code is not None and code < 0:
            name = signal.strsignal(-code) or f"signal {-code}"
            hint = ". It may have run out of memory" if -code == signal.SIGKILL else ""
            raise RuntimeError(f"DataLoader worker (pid {process.pid}) is killed by signal: {name}{hint}.")
        raise RuntimeError(
            f"DataLoader worker (pid(s) {process.pid}) exited unexpectedly with exit code {code}; "
            "with num_workers=0 the cause shows in this process."
        )


def _end(processes: list[BaseProcess], tasks: list[Connection], answers: list[Connection], owner: int) -> None:
    """Let the workers see that nobody is interested any more; stop those that do not look."""
    if os.getpid() != owner:  # a copy of the pool, in a forked child
        return
    for end in (*tasks, *answers):
        with contextlib.suppress(OSError):
            end.close()
    for what, patience in _STAGES:
        ending.tell(processes, what)
        deadline = SYSTEM.deadline(patience)
        for process in processes:
            process.join(deadline.left())
    for process in processes:
        process.close()
