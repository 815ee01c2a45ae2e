"""Failures of workers: their error files, and the report that is printed.

A worker's error file is JSON, as torch writes it:
`{"message": {"message": …, "extraInfo": {"py_callstack": …, "timestamp": …}}}`. Ours are written by
`entry` for every script; `record` writes one too, for functions that are run without it.
"""

from __future__ import annotations

import functools
import json
import os
import re
import socket
import sys
import textwrap
import time
import traceback
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Any, ParamSpec, TypeVar

from minitorch_dist import not_offered
from minitorch_dist.multiprocessing import ending
from transports.plain_text import clean

not_offered.guard(globals())

P = ParamSpec("P")
R = TypeVar("R")

FILE = "TORCHELASTIC_ERROR_FILE"
SYMPTOMS = {"PeerLost", "PeerFailed"}  # of what happened to another rank
WIDTH = 78


@dataclass
class ProcessFailure:
    """One worker that failed; torch's fields, and what its error file says."""

    local_rank: int
    pid: int
    exitcode: int
    error_file: str
    error_file_data: dict[str, Any] = field(default_factory=dict, repr=False)
    message: Any = ""
    timestamp: float = 0.0
    rank: int = -1
    host: str = field(default_factory=socket.gethostname)

    def __post_init__(self) -> None:
        self.error_file_data = _read(self.error_file)
        said = self.error_file_data.get("message", "")
        extra = said.get("extraInfo", {}) if isinstance(said, dict) else {}
        self.message = said or self._how()
        self.timestamp = float(extra.get("time", extra.get("timestamp", time.time())))  # noqa: TID251 - a date
        self.extra: dict[str, Any] = extra
        if not self.error_file_data:
            self.error_file = "<N/A>"

    def _how(self) -> str:
        crash = Path(f"{self.error_file}.crash")
        stack = crash.read_text(encoding="utf-8", errors="replace") if crash.exists() else ""
        name = self.signal_name()
        if name != "<N/A>":
            return f"Signal {-self.exitcode} ({name}) received by PID {self.pid}\n{stack}".rstrip()
        return f"the process {ending.words(self.exitcode)}, without an exception"

    def signal_name(self) -> str:
        return ending.signal_name(self.exitcode) or "<N/A>"

    def timestamp_isoformat(self) -> str:
        return datetime.fromtimestamp(self.timestamp).isoformat(sep="_", timespec="seconds")

    def text(self) -> str:
        """The traceback, or how it ended."""
        if isinstance(self.message, dict):
            return str(self.extra.get("py_callstack") or self.message.get("message", "")).rstrip()
        return str(self.message)

    def last_line(self) -> str:
        """The exception: its kind and the first line of what it says, not what was noted beside it."""
        last = CHAINED.split(self.text())[-1].strip("\n")
        lines = last.splitlines()
        if lines and lines[0].startswith("Traceback"):
            lines = [line for line in lines[1:] if not line.startswith(" ")]
        else:
            lines = lines[-1:]
        return next((line.strip() for line in lines if line.strip()), "")

    def is_symptom(self) -> bool:
        """It failed because another rank had."""
        return bool(SYMPTOMS.intersection(self.extra.get("kinds", ())))

    def never(self) -> str:
        """Why it makes no sense to start it again; "" if it does."""
        return str(self.extra.get("never", ""))

    def advice(self) -> str:
        """The facts about this failure that the user may want to know."""
        usage = str(self.extra.get("usage", ""))
        if "--local-rank" in usage or "--local_rank" in usage:
            return (
                "The script does not know --local-rank, which distributed.launch passes (with a dash "
                "since torch 2.0). Read int(os.environ['LOCAL_RANK']) instead and start it with "
                "distributed.run; or add --use-env; or let the script's parser take both: "
                "add_argument('--local-rank', '--local_rank', type=int)"
            )
        if self.exitcode == -9:
            return "SIGKILL is what the system sends when memory runs out: see `dmesg`"
        return ""


def _read(path: str) -> dict[str, Any]:
    try:
        said = json.loads(Path(path).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return said if isinstance(said, dict) else {}


# between the tracebacks of one text: the last of them is that of the exception
CHAINED = re.compile(
    r"\n(?:The above exception was the direct cause of|During handling of the above exception,).*\n"
)


class ChildFailedError(Exception):
    """Workers failed; its text is the report. `failures` by rank."""

    def __init__(self, name: str, failures: Mapping[int, ProcessFailure], note: str = "") -> None:
        self.name, self.failures, self.note = name, dict(failures), note
        assert self.failures, "somebody has failed"
        super().__init__(self.format_msg())

    def get_first_failure(self) -> tuple[int, ProcessFailure]:
        """The root cause: the earliest failure that is not only the symptom of another."""
        rank = min(
            self.failures,
            key=lambda r: (self.failures[r].is_symptom(), self.failures[r].timestamp),
        )
        return rank, self.failures[rank]

    def format_msg(self) -> str:
        root, failure = self.get_first_failure()
        double, single = "=" * WIDTH, "-" * WIDTH
        lines = ["", double, f"{self.name} FAILED", single]
        lines += ["Root cause (first observed failure):", *_told(root, failure)]
        others = [(rank, each) for rank, each in sorted(self.failures.items()) if rank != root]
        if others:
            lines += [single, "Other failures:"]
        for rank, each in others:
            is_same = each.last_line() == failure.last_line()
            said = "the same error" if is_same else each.last_line()
            lines.append(f"  rank {rank} (pid {each.pid}) {ending.words(each.exitcode)}: {said}")
        for text in (failure.advice(), self.note):
            if text:
                lines += [single, *textwrap.wrap(text, WIDTH)]
        return clean("\n".join([*lines, double]))


def _told(rank: int, failure: ProcessFailure) -> list[str]:
    name = failure.signal_name()
    where = failure.error_file
    if where == "<N/A>":
        where += " (read; --log-dir=DIR keeps it)" if failure.extra else " (it raised no exception)"
    code = f"{failure.exitcode}" + (f" ({name})" if name != "<N/A>" else "")
    return [
        f"  time      : {failure.timestamp_isoformat()}",
        f"  host      : {failure.host}",
        f"  rank      : {rank} (local_rank: {failure.local_rank})",
        f"  exitcode  : {code} (pid: {failure.pid})",
        f"  error_file: {where}",
        "  traceback :",
        textwrap.indent(failure.text(), "    "),
    ]


class ErrorHandler:
    """Writes the error file of this process."""

    def _get_error_file_path(self) -> str | None:
        return os.environ.get(FILE)

    def initialize(self) -> None:
        """Before the function: nothing to do; crashes leave their stack anyway (`entry`)."""

    def record_exception(self, error: BaseException) -> None:
        path = self._get_error_file_path()
        if not path:
            return
        extra = {
            "py_callstack": "".join(traceback.format_exception(error)),
            "timestamp": str(int(time.time())),  # noqa: TID251 - a date
            "kinds": [each.__name__ for each in type(error).__mro__],
        }
        said = {"message": {"message": f"{type(error).__name__}: {error}", "extraInfo": extra}}
        Path(path).write_text(json.dumps(said), encoding="utf-8")

    def dump_error_file(self, rootcause_error_file: str, error_code: int = 0) -> None:
        """The error of a process that we have started becomes ours."""
        self._pass_on(_read(rootcause_error_file), error_code)

    def _pass_on(self, found: dict[str, Any], error_code: int) -> None:
        path = self._get_error_file_path()
        if path and isinstance(found.get("message"), dict):
            if error_code:
                found["message"]["errorCode"] = error_code
            Path(path).write_text(json.dumps(found), encoding="utf-8")


def get_error_handler() -> ErrorHandler:
    return ErrorHandler()


def record(fn: Callable[P, R], error_handler: ErrorHandler | None = None) -> Callable[P, R | None]:
    """Decorator: an exception of `fn` is written to the error file, and goes on its way.

    Scripts that `distributed.run` starts need it no more: their exceptions are noted anyway.
    """
    handler = error_handler or get_error_handler()

    @functools.wraps(fn)
    def recorded(*args: P.args, **kwargs: P.kwargs) -> R | None:
        handler.initialize()
        try:
            return fn(*args, **kwargs)
        except SystemExit as leaving:
            if leaving.code == 0:
                return None
            raise
        except ChildFailedError as error:
            _, failure = error.get_first_failure()
            handler._pass_on(failure.error_file_data, failure.exitcode)
            raise
        except Exception as error:
            handler.record_exception(error)
            raise

    return recorded


def say(text: str) -> None:
    """A line of the agent's, on its standard error."""
    print(f"[mtdrun] {clean(text)}", file=sys.stderr, flush=True)
