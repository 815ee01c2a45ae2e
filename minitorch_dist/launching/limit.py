"""How long a whole run may take. When the time is over, each rank says where it stood.

A rank that is a process is interrupted by an alarm in any call. Of ranks that are threads only the places can be
reported, since nothing ends a thread. A simulated run has a limit of virtual time instead (`sim.run(limit=…)`).
"""

from __future__ import annotations

import os
import signal
import sys
import threading  # noqa: TID251 - only to ask whether this is the main thread
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import FrameType

from minitorch_dist.distributed.callsite import OURS
from transports.clock import PICO, SYSTEM
from transports.errors import DistError

_LIBRARIES = (*OURS, str(Path(os.__file__).parent) + os.sep, "<frozen")
GRACE = 3.0  # seconds in which all ranks can say where they stood


class OutOfTime(DistError):
    """The run took longer than it was allowed to; `where` is a rank's own line."""

    def __init__(self, said: str, where: str = "") -> None:
        super().__init__(said)
        self.where = where


@contextmanager
def alarmed(seconds: float | None, begun: int | None = None) -> Iterator[None]:
    """Within the block this process, a rank, raises OutOfTime when so much time has passed since the
    instant `begun`, or since now.

    It takes Unix and the main thread; elsewhere the launcher ends the rank a little later.
    """
    is_main = threading.current_thread() is threading.main_thread()
    if seconds is None or not is_main or not hasattr(signal, "setitimer"):
        yield
        return

    rung: list[OutOfTime] = []

    def ring(number: int, frame: FrameType | None) -> None:
        where = place(frame)
        said = f"the run took longer than the {seconds:g} s that it may take"
        rung.append(OutOfTime(f"{where}: {said}" if where else said, where))
        raise rung[-1]

    before = signal.signal(signal.SIGALRM, ring)
    passed = 0.0 if begun is None else (SYSTEM.now() - begun) / PICO
    signal.setitimer(signal.ITIMER_REAL, max(seconds - passed, 0.001))
    try:
        yield
    except Exception as error:
        if rung and error is not rung[-1]:  # code that was interrupted made another error of it
            raise rung[-1] from error
        raise
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def place(frame: FrameType | None) -> str:
    """`train.py:41`, the innermost line of the user's own; "" where there is none."""
    while frame is not None and frame.f_code.co_filename.startswith(_LIBRARIES):
        frame = frame.f_back
    if frame is None or frame.f_code.co_filename.startswith("<"):  # the process only begins
        return ""
    return f"{Path(frame.f_code.co_filename).name}:{frame.f_lineno}"


def places_of(threads: Sequence[object]) -> list[str]:
    """Where these threads stand; "" for those that have ended."""
    frames = sys._current_frames()
    return [place(frames.get(getattr(thread, "ident", None) or 0)) for thread in threads]


def report(seconds: float, places: Sequence[str | None]) -> OutOfTime:
    """`places` by rank: "" where it is not known, None for a rank that had ended."""
    late = [(rank, where) for rank, where in enumerate(places) if where is not None]
    said = ", ".join(f"rank {rank}" + (f" at {where}" if where else "") for rank, where in late)
    return OutOfTime(
        f"the run took longer than the {seconds:g} s that it may take. Not at their end: {said}. Look "
        "whether one of them waits for ever or sleeps, or allow more time"
    )
