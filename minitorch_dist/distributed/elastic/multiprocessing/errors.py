"""Failures of workers: what their error files say, and the report that is printed.

A worker's error file is JSON, as torch writes it:
`{"message": {"message": …, "extraInfo": {"py_callstack": …, "timestamp": …}}}`. `entry` writes it for every script.
"""

from __future__ import annotations

import functools
import json
import re
import socket
import sys
import textwrap
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Any, Final, ParamSpec, TypeVar

from minitorch_dist.distributed.elastic.multiprocessing import entry
from minitorch_dist.inventory import not_offered
from minitorch_dist.multiprocessing import ending
from transports.plain_text import clean

not_offered.guard(globals())

P = ParamSpec("P")
R = TypeVar("R")

SYMPTOMS: Final = {"PeerLost", "PeerFailed"}  # of what happened to another rank
WIDTH: Final = 78
LONGEST: Final = 20_000  # characters of a traceback that are kept
# between the tracebacks of one text: the last of them is that of the exception
CHAINED: Final = re.compile(
    r"\n(?:The above exception was the direct cause of|During handling of the above exception,).*\n"
)


@dataclass
class ProcessFailure:
    """One worker that failed; torch's fields, and what its error file says. All of it travels as JSON."""

    local_rank: int
    pid: int
    exitcode: int
    error_file: str
    rank: int = -1
    host: str = field(default_factory=socket.gethostname)
    message: str = ""  # the traceback, or how it ended
    timestamp: float = 0.0
    kinds: tuple[str, ...] = ()  # the classes of its exception

    def __post_init__(self) -> None:
        if self.message:
            return
        said, extra = read(self.error_file)
        self.message = said[-LONGEST:].rstrip() or self._how()
        self.timestamp = float(extra.get("time") or extra.get("timestamp") or time.time())  # noqa: TID251 - a date
        self.kinds = tuple(extra.get("kinds", ()))
        if not said:
            self.error_file = "<N/A>"

    def _how(self) -> str:
        name = ending.signal_name(self.exitcode)
        if name:
            return f"Signal {-self.exitcode} ({name}) received by PID {self.pid}"
        return f"the process {ending.words(self.exitcode)}, without an exception"

    def last_line(self) -> str:
        """The exception: its kind and the first line of what it says, not what was noted beside it."""
        last = CHAINED.split(self.message)[-1].strip("\n")
        lines = last.splitlines()
        if lines and lines[0].startswith("Traceback"):
            lines = [line for line in lines[1:] if not line.startswith(" ")]
        else:
            lines = lines[-1:]
        return next((line.strip() for line in lines if line.strip()), "")

    def in_a_line(self) -> str:
        about = f": {self.last_line()}" if self.kinds else ""
        how = ending.words(self.exitcode)
        return f"rank {self.rank} (pid {self.pid} on {self.host}) {how}{about}"

    def is_symptom(self) -> bool:
        """It failed because another rank had."""
        return bool(SYMPTOMS.intersection(self.kinds))

    def told(self) -> list[str]:
        """Its part of the report."""
        name, where = ending.signal_name(self.exitcode), self.error_file
        if where == "<N/A>":
            where += " (read; --log-dir=DIR keeps it)" if self.kinds else " (it raised no exception)"
        when = datetime.fromtimestamp(self.timestamp).isoformat(sep="_", timespec="seconds")
        return [
            f"  time      : {when}",
            f"  host      : {self.host}",
            f"  rank      : {self.rank} (local_rank: {self.local_rank})",
            f"  exitcode  : {self.exitcode}{f' ({name})' if name else ''} (pid: {self.pid})",
            f"  error_file: {where}",
            "  traceback :",
            textwrap.indent(self.message, "    "),
        ]


def read(path: str) -> tuple[str, dict[str, Any]]:
    """The text of an error file, and what it says besides; nothing where there is none."""
    try:
        said = json.loads(Path(path).read_text(encoding="utf-8"))["message"]
        extra = said.get("extraInfo", {}) if isinstance(said, dict) else {}
        text = extra.get("py_callstack") or said["message"] if isinstance(said, dict) else said
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return "", {}
    return str(text), extra


class ChildFailedError(Exception):
    """Workers failed; its text is the report. `failures` by rank."""

    def __init__(self, name: str, failures: Mapping[int, ProcessFailure], note: str = "") -> None:
        self.name, self.failures, self.note = name, dict(failures), note
        assert self.failures, "somebody has failed"
        super().__init__(self.format_msg())

    def get_first_failure(self) -> tuple[int, ProcessFailure]:
        """The root cause: the earliest failure that is not only the symptom of another."""
        return min(self.failures.items(), key=lambda one: (one[1].is_symptom(), one[1].timestamp))

    def format_msg(self) -> str:
        root, failure = self.get_first_failure()
        double, single = "=" * WIDTH, "-" * WIDTH
        lines = ["", double, f"{self.name} FAILED", single]
        lines += ["Root cause (first observed failure):", *failure.told()]
        others = [(rank, each) for rank, each in sorted(self.failures.items()) if rank != root]
        if others:
            lines += [single, "Other failures:"]
        for rank, each in others:
            is_same = each.last_line() == failure.last_line()
            said = "the same error" if is_same else each.last_line()
            lines.append(f"  rank {rank} (pid {each.pid}) {ending.words(each.exitcode)}: {said}")
        memory = "SIGKILL is what the system sends when memory runs out: see `dmesg`"
        for text in (memory if failure.exitcode == -9 else "", self.note):
            if text:
                lines += [single, *textwrap.wrap(text, WIDTH)]
        return clean("\n".join([*lines, double]))


def record(fn: Callable[P, R]) -> Callable[P, R | None]:
    """Decorator: an exception of `fn` is written to the error file, and goes on its way.

    Scripts that `distributed.run` starts need it no more: their exceptions are noted anyway.
    """

    @functools.wraps(fn)
    def recorded(*args: P.args, **kwargs: P.kwargs) -> R | None:
        try:
            return fn(*args, **kwargs)
        except SystemExit as leaving:
            if leaving.code == 0:
                return None
            raise
        except Exception as error:
            entry.note(error, is_over=False)  # the script may catch it
            raise

    return recorded


def say(text: str) -> None:
    """A line of the agent's, on its standard error."""
    print(f"[mtdrun] {clean(text)}", file=sys.stderr, flush=True)
