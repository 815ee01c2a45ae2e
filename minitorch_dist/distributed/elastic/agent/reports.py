"""Failures on their way from node to node, and what is said about them in the end."""

from __future__ import annotations

from typing import Any

from minitorch_dist.distributed.elastic.agent.job import Job
from minitorch_dist.distributed.elastic.multiprocessing.errors import (
    ChildFailedError,
    ProcessFailure,
)
from minitorch_dist.distributed.elastic.rendezvous.exceptions import RendezvousClosedError
from minitorch_dist.distributed.elastic.rendezvous.state import JobState
from minitorch_dist.multiprocessing import ending

FIELDS = ("local_rank", "pid", "exitcode", "error_file", "rank", "host")
LONGEST = 20_000  # characters of a traceback that travel


def packed(failure: ProcessFailure) -> dict[str, Any]:
    said = {name: getattr(failure, name) for name in FIELDS}
    extra = {k: v for k, v in failure.extra.items() if k != "py_callstack"}
    return said | {"text": failure.text()[-LONGEST:], "time": failure.timestamp, "extra": extra}


def unpacked(said: dict[str, Any]) -> ProcessFailure:
    failure = ProcessFailure(**{name: said[name] for name in FIELDS})
    failure.error_file = said["error_file"]
    failure.message, failure.timestamp, failure.extra = said["text"], said["time"], said["extra"]
    return failure


def in_a_line(failure: ProcessFailure) -> str:
    how = ending.words(failure.exitcode)
    about = f": {failure.last_line()}" if failure.error_file_data else ""
    return f"rank {failure.rank} (pid {failure.pid} on {failure.host}) {how}{about}"


def failure(job: Job, state: JobState, failures: dict[int, ProcessFailure]) -> Exception:
    """The exception that ends an agent whose job has not succeeded."""
    if not failures:
        return RendezvousClosedError(f"the job has ended: {state.cause}")
    if not job.wishes.has_files():
        for each in failures.values():
            each.error_file = "<N/A>"  # it goes with us
    report = ChildFailedError(str(job.program), failures)
    _, first = report.get_first_failure()
    if first.never():
        note = f"Not started again: {first.never()}."
        if not state.rules.max_restarts:
            note = ""
    elif state.restarts:
        note = f"All workers were started again {state.restarts} time(s) (--max-restarts {state.rules.max_restarts})."  # fmt: skip
    else:
        note = ""
    return ChildFailedError(str(job.program), failures, note)
