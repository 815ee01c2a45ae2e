"""Forks the ranks of one world from a process that has imported everything, and strikes one of them.

nurse ── fork ──► rank 0 … n-1, each of which says that it has begun, and how it ended
      ── strikes the victim some time after all have begun
      ── hears them all, or says that one hangs, with the lines at which it stands
"""

from __future__ import annotations

import faulthandler
import os
import pickle
import select
import signal
import time
import traceback
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple

from tests.hostile.faults import blows
from tests.hostile.faults.blows import LIMITS, Blow
from tests.hostile.running import fork

SECONDS = 60.0  # for a whole world: then it hangs


class Fell(AssertionError):
    """A fault had an outcome that nothing promises."""


class End(NamedTuple):
    """How a rank ended: its result, or the names of its error's classes and what that says."""

    is_done: bool
    result: Any
    kinds: list[str]
    text: str
    number: int
    trace: str


DIED = End(False, None, ["died"], "", 0, "")
Act = Callable[..., Any]


def run(act: Act, size: int, blow: Blow | None, folder: Path, *given: Any) -> list[End]:
    """The ends of all ranks. `act(rank, size, begun, *given)` is what each does; it calls `begun`."""
    folder.mkdir(exist_ok=True)
    children = [_bear(act, rank, size, blow, folder, given) for rank in range(size)]
    until = time.monotonic() + SECONDS
    try:
        if blow is not None and blow.kind not in LIMITS:
            _wait_for_all([reading for _, reading in children], until)
            time.sleep(blow.after)
            blows.strike(blow, children[blow.victim][0])
        return [_hear(reading, until, rank, folder, children) for rank, (_, reading) in enumerate(children)]
    finally:
        for pid, reading in children:
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
            os.waitpid(pid, 0)
            os.close(reading)


def _bear(act: Act, rank: int, size: int, blow: Blow | None, folder: Path, given: tuple[Any, ...]) -> tuple[int, int]:
    reading, writing = os.pipe()
    pid = fork()
    if pid:
        os.close(writing)
        return pid, reading
    try:
        os.close(reading)
        signal.signal(signal.SIGINT, signal.default_int_handler)
        with (folder / f"lines-{rank}").open("w") as lines:
            faulthandler.register(signal.SIGUSR1, lines, all_threads=True)
            end = _live(act, rank, size, blow, lambda: os.write(writing, b"!") and None, given)
        with suppress(BaseException):
            os.write(writing, pickle.dumps(end))
    finally:
        os._exit(0)


def _live(act: Act, rank: int, size: int, blow: Blow | None, begun: Callable[[], None], given: tuple[Any, ...]) -> End:
    """The program, and how it ended. An interrupt that comes later would only silence that report."""
    if blow is not None and blow.kind in LIMITS and blow.victim == rank:
        begun, first = (lambda: blows.suffer(blow)), begun
        first()
    try:
        result = act(rank, size, begun, *given)
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        return End(True, result, [], "", 0, "")
    except BaseException as error:
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        kinds = [kind.__name__ for kind in type(error).__mro__]
        number = getattr(error, "errno", None) or 0
        return End(False, None, kinds, str(error)[:2000], number, traceback.format_exc()[-6000:])


def _wait_for_all(readings: list[int], until: float) -> None:
    """Each has said that it has begun, or has ended."""
    left = set(readings)
    while left and time.monotonic() < until:
        for reading in select.select(list(left), [], [], 0.5)[0]:
            os.read(reading, 1)
            left.discard(reading)


def _hear(reading: int, until: float, rank: int, folder: Path, children: list[tuple[int, int]]) -> End:
    heard = bytearray()
    while select.select([reading], [], [], max(0.0, until - time.monotonic()))[0]:
        piece = os.read(reading, 1 << 16)
        if not piece:
            said = bytes(heard).lstrip(b"!")
            return pickle.loads(said) if said else DIED
        heard += piece
    raise Fell(f"hang: rank {rank} says nothing for {SECONDS:g} s\n{_lines(folder, children)}")


def _lines(folder: Path, children: list[tuple[int, int]]) -> str:
    """Where each rank stands."""
    for pid, _ in children:
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGUSR1)
    time.sleep(0.5)
    return "\n".join(f"rank {rank}:\n{(folder / f'lines-{rank}').read_text()}" for rank in range(len(children)))
