"""Processes that carry out one function, watched together; `spawn` and `launch` stand on it.

    we ── start ──► process 0 … n-1       a pipe from each: one report up, when its function is done
       ◄─ report ──                       or has failed; and its end, which needs no word

A report that is too long for a pipe's buffer is read while its process still waits to send it.
"""

from __future__ import annotations

import multiprocessing
import os
import pickle
import signal
import sys
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack, suppress
from multiprocessing import connection
from typing import Any, NamedTuple

from minitorch_dist.multiprocessing import ending, lines, sigint
from minitorch_dist.multiprocessing.sent_error import SentError
from transports.clock import SYSTEM

Act = Callable[..., Any]


class ProcessReport(NamedTuple):
    """The report of a process when its function is done."""

    result: bytes | None  # pickled; None if it failed
    error: SentError | None = None


class ProcessPool:
    """`act(order, at_end)` in a process for each order; `news` tells which have reported or ended. Callbacks
    on the stack `at_end` run after the report. `variables` are set in each process, besides the environment of now.
    """

    def __init__(
        self,
        act: Act,
        orders: Sequence[Any],
        start_method: str,
        daemon: bool = False,
        name: str = "process",
        variables: Mapping[str, str] | None = None,
    ) -> None:
        context: Any = multiprocessing.get_context(start_method)
        # A fork server's children would have the environment of its beginning.
        ours_now = {**os.environ, **(variables or {})}
        self.processes: list[Any] = []
        self.reports: dict[int, ProcessReport] = {}
        self._pipes: dict[int, connection.Connection] = {}  # of those that may still report
        self._running: set[int] = set()
        try:
            with sigint.without_sigint(start_method):
                for index, order in enumerate(orders):
                    ours, theirs = context.Pipe(duplex=False)
                    self._pipes[index] = ours
                    process = context.Process(
                        target=_serve, args=(theirs, act, order, ours_now), name=f"{name} {index}", daemon=daemon
                    )
                    with theirs:
                        process.start()
                    self.processes.append(process)
                    self._running.add(index)
        except BaseException:
            self.end(((signal.SIGKILL, None),))
            self.close()
            raise

    def news(self, timeout: float | None = None) -> list[int]:
        """Wait for a report or an end; the processes it concerns, none after `timeout` seconds."""
        files: dict[Any, int] = {pipe: index for index, pipe in self._pipes.items()}
        files |= {self.processes[index].sentinel: index for index in self._running}
        ready = {files[file] for file in connection.wait(list(files), timeout)}
        for index in ready:
            self._listen(index)
            if self.processes[index].exitcode is not None:
                self._listen(index)  # what it said just before
                self._running.discard(index)
        return sorted(ready)

    def _listen(self, index: int) -> None:
        pipe = self._pipes.get(index)
        if pipe is None or not pipe.poll():
            return
        with suppress(EOFError, OSError):
            self.reports[index] = pipe.recv()
        del self._pipes[index]
        pipe.close()

    def exitcode(self, index: int) -> int | None:
        """None while it runs."""
        code: int | None = self.processes[index].exitcode
        return code

    def end(self, stages: Sequence[ending.Stage] = ending.POLITE) -> None:
        """Return when all have ended; late reports are heard."""
        for what, patience in stages:
            ending.tell([self.processes[index] for index in self._running], what)
            deadline = SYSTEM.deadline(patience)
            while self._running and not deadline.is_over():
                self.news(deadline.left())

    def close(self) -> None:
        """Give back the pipes; the processes have ended."""
        for pipe in self._pipes.values():
            pipe.close()
        self._pipes.clear()

    def __repr__(self) -> str:
        return (
            f"<ProcessPool of {len(self.processes)} processes, {len(self._running)} running, "
            f"{len(self.reports)} reports>"
        )


# -------------------------------------------------------------------------------- in the process


def _serve(pipe: connection.Connection, act: Act, order: Any, environment: dict[str, str]) -> None:
    ending.die_with_parent()
    os.environ.clear()
    os.environ.update(environment)
    lines.one_write_a_line()
    with lines.whole_lines(lambda: None), ExitStack() as at_end, pipe:
        try:
            sigint.restore_sigint()
            report = ProcessReport(pickle.dumps(act(order, at_end)))
        except KeyboardInterrupt:  # Ctrl-C is for who started us
            return
        except Exception as error:
            report = ProcessReport(None, SentError.of(error))
        finally:
            sigint.ignore_sigint()
        with suppress(OSError):  # nobody listens any more
            pipe.send(report)
    if report.result is None:
        sys.exit(1)
