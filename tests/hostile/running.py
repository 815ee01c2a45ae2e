"""Makes attempts for a while, in processes that may die of them, and counts what came of it.

runner ── fork ──► a part's process: attempt 0, 1, 2 … until its time is over ── rows ──► table
                        │ says in shared memory which attempt it makes
                        └ dies, or stands still: that attempt fell, and the part goes on behind it
"""

from __future__ import annotations

import json
import mmap
import os
import select
import signal
import struct
import sys
import tempfile
import time
import traceback
import warnings
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple, Protocol

from tests.hostile.judging import Verdict

SILENCE = 100.0  # seconds on one attempt, before its process is ended
DEATHS = 5  # of a part's processes, before it is given up
KEPT = 20  # falls of a part that are told in full


class Tried(NamedTuple):
    """What came of one attempt; a live one is several clients at once."""

    verdict: Verdict
    count: int = 1


class Session(Protocol):
    def attempt(self, number: int) -> Tried: ...
    def close(self) -> None: ...


@dataclass(frozen=True)
class Part:
    """One row of the table. `open(seed, folder)` is called in the part's own process."""

    name: str
    kind: str  # door, live, fault, folder, twice
    open: Callable[[int, Path], Session]
    weight: float = 1.0


class Fall(NamedTuple):
    token: str
    why: str
    trace: str


@dataclass
class Row:
    name: str
    kind: str
    attempts: int = 0
    accepted: int = 0
    refused: int = 0
    fallen: int = 0
    seconds: float = 0.0
    deaths: int = 0
    next: int = 0  # number of the attempt that has not been made
    falls: list[Fall] = field(default_factory=list)

    def add(self, more: dict[str, Any]) -> None:
        for name in ("attempts", "accepted", "refused", "fallen", "seconds"):
            setattr(self, name, getattr(self, name) + more[name])
        self.next = more["next"]
        self.falls += [Fall(*fall) for fall in more["falls"]]

    def fell(self, fall: Fall) -> None:
        self.fallen += 1
        self.attempts += 1
        self.falls.append(fall)


def fork() -> int:
    """As os.fork does it. Where other threads run, newer Pythons warn; those here have not begun."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        return os.fork()


def token_of(part: str, seed: int, number: int) -> str:
    return f"{part}:{seed}:{number}"


def made(session: Session, number: int) -> Tried:
    """One attempt; what it raises itself is a fall."""
    try:
        return session.attempt(number)
    except KeyboardInterrupt:
        raise
    except BaseException as error:
        why = f"raised {type(error).__name__}: {error}".partition("\n")[0]
        return Tried(Verdict("fell", why[:300], traceback.format_exc()))


# --------------------------------------------------------------------------------- in the part's process


def _work(
    part: Part, seed: int, folder: Path, first: int, seconds: float, count: int | None, mark: mmap.mmap, answer: int
) -> None:
    """Attempts from number `first` on, until the time is over or so many are made."""
    row = Row(part.name, part.kind)
    start, number = time.monotonic(), first
    session = part.open(seed, folder)
    seen: set[str] = set()
    try:
        while time.monotonic() - start < seconds and (count is None or number - first < count):
            struct.pack_into("<q", mark, 0, number)
            verdict, tries = made(session, number)
            row.attempts += tries
            row.accepted += tries if verdict.outcome == "accepted" else 0
            row.refused += tries if verdict.outcome == "refused" else 0
            if verdict.has_fallen:
                row.fallen += 1
                kind = _kind_of(verdict)
                if kind not in seen and len(seen) < KEPT:
                    seen.add(kind)
                    token = token_of(part.name, seed, number)
                    row.falls.append(Fall(token, verdict.why, verdict.trace))
                if part.kind == "live":  # what it talked to may be no more
                    session.close()
                    session = part.open(seed, folder)
            number += 1
    finally:
        struct.pack_into("<q", mark, 0, -1)
        session.close()
    row.seconds, row.next = time.monotonic() - start, number
    with os.fdopen(answer, "w") as pipe:
        json.dump(vars(row), pipe)


def _kind_of(verdict: Verdict) -> str:
    """Falls of one kind have the same cause, most likely: where it was raised, and what."""
    lines = [line.strip() for line in verdict.trace.splitlines() if line.strip().startswith("File ")]
    return f"{lines[-1] if lines else ''} {verdict.why.partition(':')[0]} {verdict.why[:30]}"


@dataclass
class Child:
    row: Row
    part: Part
    pid: int
    answer: int
    mark: mmap.mmap
    until: float
    said: bytes = b""
    at: int = -2
    since: float = 0.0


class Runner:
    """All parts, several at once."""

    def __init__(
        self,
        parts: Sequence[Part],
        seed: int,
        seconds: float,
        jobs: int = 2,
        count: int | None = None,
        silence: float = SILENCE,
        say: Callable[[str], None] = print,
    ) -> None:
        self.parts, self.seed, self.jobs, self.count = parts, seed, jobs, count
        self.silence, self.say = silence, say
        weight = sum(part.weight for part in parts) or 1.0
        self.shares = {part.name: seconds * jobs * part.weight / weight for part in parts}
        self.rows = {part.name: Row(part.name, part.kind) for part in parts}

    def run(self) -> list[Row]:
        """The rows; also those so far when it is interrupted."""
        waiting, working = list(self.parts), list[Child]()
        with tempfile.TemporaryDirectory(prefix="hostile-") as folder:
            try:
                while waiting or working:
                    while waiting and len(working) < self.jobs:
                        part = waiting.pop(0)
                        working.append(self._start(part, Path(folder)))
                    for child in list(self._look(working)):
                        working.remove(child)
                        if not self._is_finished(child):
                            waiting.insert(0, child.part)
                        _end(child)
            except KeyboardInterrupt:
                self.say("interrupted: the table so far")
            finally:
                for child in working:
                    _end(child)
        return list(self.rows.values())

    def _start(self, part: Part, folder: Path) -> Child:
        row = self.rows[part.name]
        left = max(self.shares[part.name] - row.seconds, 0.0)
        count = None if self.count is None else max(self.count - row.attempts, 0)
        mark = mmap.mmap(-1, 8)
        struct.pack_into("<q", mark, 0, -1)
        reading, writing = os.pipe()
        place = folder / f"{part.name}.{row.deaths}"
        place.mkdir()
        sys.stdout.flush()
        pid = fork()
        if pid == 0:
            os.close(reading)
            code = 1
            try:
                os.setpgid(0, 0)  # what it leaves behind can be found and ended
                signal.signal(signal.SIGINT, signal.SIG_IGN)
                _work(part, self.seed, place, row.next, left, count, mark, writing)
                code = 0
            except BaseException:
                traceback.print_exc()
            finally:
                sys.stdout.flush()
                sys.stderr.flush()
                os._exit(code)
        os.close(writing)
        os.set_blocking(reading, False)
        now = time.monotonic()
        return Child(row, part, pid, reading, mark, now + left, since=now)

    def _look(self, working: Sequence[Child]) -> Iterable[Child]:
        """Those that have ended. Who stands still is ended."""
        select.select([child.answer for child in working], [], [], 0.2)
        for child in list(working):
            with suppress(BlockingIOError):
                while piece := os.read(child.answer, 1 << 16):
                    child.said += piece
            number, now = struct.unpack_from("<q", child.mark, 0)[0], time.monotonic()
            if number != child.at:
                child.at, child.since = number, now
            done, _ = os.waitpid(child.pid, os.WNOHANG)
            if done == 0 and now - child.since > self.silence:
                os.kill(child.pid, signal.SIGKILL)
                os.waitpid(child.pid, 0)
                child.said = b""
                yield child
            elif done:
                with suppress(BlockingIOError):
                    while piece := os.read(child.answer, 1 << 16):
                        child.said += piece
                yield child

    def _is_finished(self, child: Child) -> bool:
        """Take in what a process said, or that it died; whether its part has had its time."""
        row = child.row
        number = struct.unpack_from("<q", child.mark, 0)[0]
        if child.said:
            row.add(json.loads(child.said))
            return True
        row.deaths += 1
        row.seconds += max(self.shares[row.name] - (child.until - time.monotonic()), 0.0)
        row.next = max(number, row.next) + 1
        why = "its process died, or stood still and was ended"
        row.fell(Fall(token_of(row.name, self.seed, number), why, ""))
        self.say(f"{row.name}: {why} at attempt {number}")
        return row.deaths >= DEATHS or row.seconds >= self.shares[row.name]


def _end(child: Child) -> None:
    """Nothing of its process group is left."""
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(child.pid, signal.SIGKILL)
    with suppress(ChildProcessError):
        os.waitpid(child.pid, 0)
    os.close(child.answer)
    child.mark.close()


def table(rows: Sequence[Row]) -> str:
    """What was tried, and what came of it."""
    head = f"{'what':22} {'kind':6} {'attempts':>10} {'accepted':>9} {'refused':>9} {'fallen':>6} {'seconds':>7}"
    lines = [head, "-" * len(head)]
    lines += [
        f"{row.name:22} {row.kind:6} {row.attempts:>10,} {row.accepted:>9,} {row.refused:>9,} "
        f"{row.fallen:>6,} {row.seconds:>7.1f}"
        for row in rows
    ]
    inputs = sum(row.attempts for row in rows if row.kind != "fault")
    faults = sum(row.attempts for row in rows if row.kind == "fault")
    fallen = sum(row.fallen for row in rows)
    lines += ["-" * len(head), f"{inputs:,} inputs and {faults:,} faults; {fallen:,} fallen"]
    return "\n".join(lines)


def told(rows: Sequence[Row], has_traces: bool = False) -> str:
    """What fell, each with the line that makes it again."""
    lines = []
    for row in rows:
        for fall in row.falls:
            lines += [f"{row.name}: {fall.why}", f"    python -m tests.hostile --replay {fall.token}"]
            lines += [f"        {line}" for line in fall.trace.splitlines()] if has_traces else []
    return "\n".join(lines)
