"""How processes end: in what words, in what order, and never later than the process that started them.

One place for everything that starts processes: `spawn` and `launch` (a function in each), and the
agent of `distributed.run` (a script in each). A process here has a number, a file that becomes readable when it
ends, and an exit code: `multiprocessing.Process` is one, the agent's workers too.
"""

from __future__ import annotations

import os
import signal
from collections.abc import Iterable, Sequence
from contextlib import suppress
from multiprocessing import connection, parent_process
from typing import Protocol

from transports.clock import SYSTEM

SLICE = 0.05  # seconds between two looks at what cannot be waited for


class Process(Protocol):
    """A process that we have started."""

    @property
    def pid(self) -> int | None: ...
    @property
    def sentinel(self) -> int: ...  # a file that is readable when it has ended
    @property
    def exitcode(self) -> int | None: ...  # None while it runs; -9 after SIGKILL


Stage = tuple[signal.Signals | None, float | None]  # what it is sent, and seconds until the next

POLITE: Sequence[Stage] = ((signal.SIGTERM, 5.0), (signal.SIGKILL, None))


def words(code: int | None) -> str:
    """`ended with exit code 3`, `was ended by SIGKILL`."""
    if code is None:
        return "is still running"
    name = signal_name(code)
    return f"was ended by {name}" if name else f"ended with exit code {code}"


def signal_name(code: int) -> str:
    """The signal in an exit code, "" if there is none."""
    if code >= 0:
        return ""
    try:
        return signal.Signals(-code).name
    except ValueError:
        return f"signal {-code}"


def await_any(processes: Iterable[Process], timeout: float | None) -> bool:
    """Return when one of them has ended, or after `timeout` seconds; whether one has."""
    files = [process.sentinel for process in processes]
    if files and min(files) >= 0:
        return bool(connection.wait(files, timeout))
    SYSTEM.sleep(SLICE if timeout is None else min(timeout, SLICE))
    return True


def tell(processes: Iterable[Process], what: signal.Signals | None) -> None:
    """Send them a signal; those that have ended hear nothing."""
    for process in processes:
        if what is not None and process.exitcode is None and process.pid is not None:
            with suppress(ProcessLookupError):
                os.kill(process.pid, what)


def die_with_parent() -> None:
    """From now on this process does not outlive the one that started it, not even after its `kill -9`: a thread watches."""
    parent = parent_process()
    assert parent is not None, "only for processes that multiprocessing has started"

    def watch() -> None:
        connection.wait([parent.sentinel])
        os._exit(1)

    SYSTEM.start(watch, "watch over the parent")
