"""torch's `spawn`: run `fn(i, *args)` in n processes; the first that fails ends the others.

    spawn(train, args=(world_size,), nprocs=world_size)

A function that was typed into a notebook, where no other process could import it, is sent as its
source. Processes end with the one that started them, even if that one is killed.
"""

from __future__ import annotations

import signal
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from typing import Any

from minitorch_dist.multiprocessing import ending, sources
from minitorch_dist.multiprocessing.process_pool import ProcessPool
from transports import job
from transports.clock import SYSTEM

GRACE = 30.0  # seconds between SIGTERM and SIGKILL; torch's
HASTE = 1.0  # after Ctrl-C, which the processes have heard too


class ProcessException(Exception):
    """A process failed; `error_index` says which, `error_pid` is its number in the system."""

    def __init__(self, msg: str, error_index: int, error_pid: int, *more: Any) -> None:
        super().__init__(msg, error_index, error_pid, *more)
        self.msg, self.error_index, self.error_pid = msg, error_index, error_pid

    def __str__(self) -> str:
        return self.msg


class ProcessRaisedException(ProcessException):
    """Its function raised; the message holds the traceback."""


class ProcessExitedException(ProcessException):
    """It ended with an exit code or by a signal, without an exception."""

    def __init__(
        self, msg: str, error_index: int, error_pid: int, exit_code: int, signal_name: str | None = None
    ) -> None:
        super().__init__(msg, error_index, error_pid, exit_code, signal_name)
        self.exit_code, self.signal_name = exit_code, signal_name


class ProcessContext:
    """Processes that were started and not yet waited for."""

    def __init__(self, pool: ProcessPool) -> None:
        self._pool = pool
        self.processes = pool.processes
        self.sentinels = {process.sentinel: i for i, process in enumerate(pool.processes)}

    def pids(self) -> list[int]:
        return [int(process.pid) for process in self.processes]

    def join(self, timeout: float | None = None, grace_period: float | None = None) -> bool:
        """Wait until a process ends; True when all have ended well.

        The first that fails ends the others (they have `grace_period` seconds to end by themselves,
        then SIGTERM, then SIGKILL), and its failure is raised. False: call again.
        """
        deadline = SYSTEM.deadline(timeout)
        ended: list[int] = []
        while self.sentinels and not ended:
            self._pool.news(deadline.left())
            known = list(self.sentinels.items())
            ended = [i for _, i in known if self._pool.exitcode(i) is not None]
            if deadline.is_over():
                break
        self.sentinels = {s: i for s, i in self.sentinels.items() if i not in ended}
        failed = [index for index in ended if self._pool.exitcode(index) != 0]
        if failed:
            self._end_others(grace_period)
            raise self._failure(self._first(failed))
        if not self.sentinels:
            self._pool.close()
        return not self.sentinels

    def _end_others(self, grace_period: float | None) -> None:
        patience = GRACE if grace_period is None else grace_period
        stages: list[ending.Stage] = [(signal.SIGTERM, patience), (signal.SIGKILL, None)]
        self._pool.end(stages if grace_period is None else [(None, grace_period), *stages])
        self.sentinels = {}
        self._pool.close()

    def _first(self, failed: Sequence[int]) -> int:
        """The process that failed by itself, rather than one that only noticed (by an exit code) another's
        failure.
        """
        raised = [index for index in failed if index in self._pool.reports]
        return (raised or failed)[0]

    def _failure(self, index: int) -> ProcessException:
        pid, code = int(self.processes[index].pid), self._pool.exitcode(index)
        assert code is not None
        report = self._pool.reports.get(index)
        if report is not None and report.error is not None:
            said = f"\n\n-- Process {index} terminated with the following error:\n{report.error.text}"
            return ProcessRaisedException(said, index, pid)
        name = ending.signal_name(code)
        how = f"signal {name}" if name else f"exit code {code}"
        return ProcessExitedException(f"process {index} terminated with {how}", index, pid, code, name or None)

    def interrupt(self) -> None:
        """End all at once."""
        self._pool.end(((None, HASTE), (signal.SIGTERM, HASTE), (signal.SIGKILL, None)))
        self.sentinels = {}
        self._pool.close()

    def __repr__(self) -> str:
        return f"<ProcessContext of {self._pool!r}>"


def _act(order: tuple[Any, int, tuple[Any, ...]], at_end: ExitStack) -> None:
    fn, index, args = order
    fn(index, *args)


def spawn(
    fn: Callable[..., Any],
    args: Sequence[Any] = (),
    nprocs: int = 1,
    join: bool = True,
    daemon: bool = False,
    start_method: str = "spawn",
) -> ProcessContext | None:
    """Call `fn(i, *args)` in `nprocs` processes, by default in fresh interpreters.

    Args:
        fn: The function; its first argument is the number of the process.
        args: Its other arguments.
        nprocs: How many processes there are.
        join: Wait for all of them; else return at once.
        daemon: End the processes with the one that started them.
        start_method: How processes begin: "spawn", "fork" or "forkserver".

    Returns:
        None, or with `join=False` a ProcessContext.

    Raises:
        ProcessRaisedException: A process raised; the text has its traceback.
        ProcessExitedException: A process ended with another exit code than 0, or by a signal.

    Example:
        >>> import os
        >>> torch.multiprocessing.spawn(os.strerror, nprocs=2)
    """
    orders: list[Any] = [(fn, index, tuple(args)) for index in range(nprocs)]
    if start_method != "fork":
        orders = [sources.Portable(order, "start_method='fork'") for order in orders]
    mine = {job.VARIABLE: job.draw(nprocs)}  # other hosts may start the rest of a larger world
    context = ProcessContext(ProcessPool(_act, orders, start_method, daemon, "process", mine))
    if not join:
        return context
    try:
        while not context.join():
            pass
    except BaseException:
        context.interrupt()
        raise
    return None


start_processes = spawn
