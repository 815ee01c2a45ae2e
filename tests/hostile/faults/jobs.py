"""Two jobs at once at one place: a port, a file, or a broker with one name. They never meet.

    two jobs, launched or started by hand ── forked in any order ──► each sums ones of its own
    each rank has its job's sum, or an error; a job that failed says which other job it met

A launcher ends the other ranks of its job when one fails; this is done here, too. Two jobs of one script and one
world size that were started by hand cannot be told apart, and are no pair.
"""

from __future__ import annotations

import os
import pickle
import re
import select
import signal
import sys
import time
import warnings
from collections.abc import Sequence
from contextlib import suppress
from datetime import timedelta
from functools import partial
from math import inf
from pathlib import Path
from random import Random
from typing import NamedTuple

import minitorch_dist as mtd
import minitorch_dist.distributed as dist
from tests.hostile.faults.nursery import End, Fell
from tests.hostile.judging import Verdict
from tests.hostile.running import Part, Tried, fork
from tests.ports import free_port
from transports import job
from transports.broker import launch

SECONDS = 60.0  # for both jobs: then something hangs
TIMEOUT = timedelta(seconds=6)  # for ranks whose rank 0 was refused before they came
SIZES = (1, 2, 3, 5)
ENDED = End(False, None, ["ended"], "its launcher has ended it", 0, "")


class OneJob(NamedTuple):
    """A job as it is started here."""

    name: str
    is_launched: bool
    script: str
    size: int
    value: int  # of each element that each rank gives

    @property
    def right(self) -> int:
        return self.size * self.value

    @property
    def words(self) -> str:
        """By this it is named in the other's errors."""
        return f"job {self.name}" if self.is_launched else f"{self.script}, started by hand"


def are_a_pair(one: OneJob, other: OneJob) -> bool:
    """Whether it can be known that they are two."""
    is_alike = (one.script, one.size) == (other.script, other.size)
    return one.is_launched or other.is_launched or not is_alike


def meet(
    jobs: Sequence[OneJob], order: Sequence[tuple[int, int]], delays: Sequence[float], transport: str, place: str
) -> list[dict[int, End]]:
    """Start ranks (job, rank) in this order, each so long after the one before it; with a delay of `inf` when some
    rank has ended. How all of them ended, by job."""
    drawn = [job.draw(id=one.name, script=one.script) for one in jobs]
    children: dict[int, tuple[int, int, int]] = {}  # by pipe: job, rank, process
    ends: list[dict[int, End]] = [{} for _ in jobs]
    until = time.monotonic() + SECONDS
    try:
        for (number, rank), delay in zip(order, delays, strict=True):
            while delay == inf and not any(ends) and time.monotonic() < until:
                _hear(children, jobs, ends, 0.2)
            time.sleep(0.0 if delay == inf else delay)  # a random one; nothing relies upon it
            if ends[number].get(rank) is None:
                pid, pipe = _bear(jobs[number], drawn[number], rank, transport, place)
                children[pipe] = number, rank, pid
            _hear(children, jobs, ends, 0.0)
        while children and time.monotonic() < until:
            _hear(children, jobs, ends, 0.2)
        if children:
            late = [f"rank {rank} of {jobs[number]}" for number, rank, _ in children.values()]
            raise Fell(f"hang: {', '.join(late)} after {SECONDS:g} s; the others: {ends}")
    finally:
        for pipe, (_, _, pid) in children.items():
            _bury(pipe, pid)
    return ends


def _bear(one: OneJob, drawn: str, rank: int, transport: str, place: str) -> tuple[int, int]:
    reading, writing = os.pipe()
    pid = fork()
    if pid:
        os.close(writing)
        return pid, reading
    try:
        os.close(reading)
        os.environ.pop(job.VARIABLE, None)
        if one.is_launched:
            os.environ[job.VARIABLE] = drawn
        sys.argv = [f"/home/somebody/{rank}/{one.script}", f"--rank={rank}"]
        try:
            end = End(True, _sum(one, rank, transport, place), [], "", 0, "")
        except BaseException as error:
            kinds = [kind.__name__ for kind in type(error).__mro__]
            end = End(False, None, kinds, f"{error}"[:3000], 0, "")
        os.write(writing, pickle.dumps(end))
    finally:
        os._exit(0)


def _sum(one: OneJob, rank: int, transport: str, place: str) -> float:
    dist.init_process_group(transport, place, TIMEOUT, one.size, rank)
    x = mtd.full((3,), float(one.value))
    dist.all_reduce(x)
    dist.destroy_process_group()
    return float(x[1].item())


def _hear(
    children: dict[int, tuple[int, int, int]], jobs: Sequence[OneJob], ends: list[dict[int, End]], seconds: float
) -> None:
    for pipe in select.select(list(children), [], [], seconds)[0]:
        if pipe not in children:  # its launcher has just ended it
            continue
        said = os.read(pipe, 1 << 16)
        number, rank, pid = children.pop(pipe)
        _bury(pipe, pid)
        ends[number][rank] = pickle.loads(said) if said else ENDED
        if said and not ends[number][rank].is_done and jobs[number].is_launched:
            for other in range(jobs[number].size):
                ends[number].setdefault(other, ENDED)
            for there, (job_of, which, process) in list(children.items()):
                if job_of == number and which != rank:
                    del children[there]
                    _bury(there, process)


def _bury(pipe: int, pid: int) -> None:
    with suppress(ProcessLookupError):
        os.kill(pid, signal.SIGKILL)
    os.waitpid(pid, 0)
    os.close(pipe)


def judge(jobs: Sequence[OneJob], ends: Sequence[dict[int, End]]) -> int:
    """Fell, unless each job is right or says whom it has met; how many were right."""
    right = 0
    for one, other, found in zip(jobs, reversed(jobs), ends, strict=True):
        sums = [end.result for end in found.values() if end.is_done]
        if any(total != one.right for total in sums):
            raise Fell(f"wrong without a word: {one} has {sums}, not {one.right}")
        texts = [end.text for end in found.values() if "OtherJob" in end.kinds]
        if len(sums) == one.size:
            right += 1
        elif not any(re.search(other.words, text) and one.words in text for text in texts):
            raise Fell(f"{one} failed, and no rank names it and {other}: {dict(found)}")
    return right


class Pairs:
    """Attempts with pairs of jobs at a place of one kind."""

    def __init__(self, kind: str, seed: int, folder: Path) -> None:
        self.kind, self.seed, self.folder = kind, seed, folder
        self.broker = launch.start() if kind == "broker" else None

    def attempt(self, number: int) -> Tried:
        random = Random(f"fault-jobs-{self.kind}/{self.seed}/{number}")
        while True:
            jobs = [
                OneJob(
                    f"{letter}{number}",
                    random.random() < 0.6,
                    random.choice(("train.py", "other.py")),
                    random.choice(SIZES),
                    value,
                )
                for letter, value in (("a", 1), ("b", 100))
            ]
            if are_a_pair(*jobs):
                break
        order = [(which, rank) for which, one in enumerate(jobs) for rank in range(one.size)]
        random.shuffle(order)
        delays = [random.choice((0.0, 0.0, 0.01, 0.1)) for _ in order]
        transport = random.choice(("tcp", f"file://{self.folder}/world"))
        place = self._place(number)
        right = judge(jobs, meet(jobs, order, delays, transport, place))
        self._nothing_left(place)
        return Tried(Verdict("accepted" if right == 2 else "refused"))

    def _place(self, number: int) -> str:
        if self.broker is not None:
            return f"{self.broker.address}/pair{number}"
        if self.kind == "port":
            return f"tcp://127.0.0.1:{free_port()}"
        return f"file://{self.folder}/{number}"

    def _nothing_left(self, place: str) -> None:
        """A store's file is deleted by its last user. Ranks that were killed leave it, for the next one to name; and
        their mapped file, which the next world sweeps away."""
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", RuntimeWarning)
            sweeper = OneJob("", False, "sweeper.py", 1, 1)
            _sum(sweeper, 0, f"file://{self.folder}/world", f"file://{self.folder}/last")
        left = [path.name for path in self.folder.iterdir()]
        if place.startswith("file://"):
            left = [name for name in left if name != Path(place).name]
            Path(place.removeprefix("file://")).unlink(missing_ok=True)
        if left:
            raise Fell(f"left behind: {left}")

    def close(self) -> None:
        if self.broker is not None:
            self.broker.stop()


def parts() -> list[Part]:
    kinds = ("port", "file", "broker")
    return [Part(f"two-jobs-{kind}", "fault", partial(Pairs, kind), 0.6) for kind in kinds]
