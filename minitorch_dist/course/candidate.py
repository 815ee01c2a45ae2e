"""The process in which a learner's code is judged: `python -m minitorch_dist.course.candidate ORDER`.

It writes what it finds as lines of JSON, the last one last, so that whatever the code does (loops without end, exits, takes all
memory, crashes the interpreter) what was known before it stays known. A watchman looks on and, when something goes too far,
writes where the code is, and ends the process. `examination` is the other side.
"""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Callable, Collection, Iterator
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from types import FrameType
from typing import Any

from minitorch_dist.course import checking
from minitorch_dist.course.lesson import Lesson, read
from minitorch_dist.course.raised import in_words
from minitorch_dist.course.verdict import Verdict
from minitorch_dist.pictures.scene import Scene
from transports.clock import SystemClock

LOOK = 0.05  # seconds between two looks of the watchman
MOST_HELD = 4 << 30  # bytes
MOST_PRINTED = 20 << 20
STOPPED = 3  # exit status

Say = Callable[..., None]


@dataclass
class Order:
    """What is to be done."""

    task: str  # check, picture, truth
    lesson: str  # its folder
    own: str  # the folder of the learner's file
    solved: dict[int, str]
    room: str
    out: str  # the file for what is found
    stop: str  # a file that appears when nobody wants to know any more
    processor: float  # seconds
    seconds: float
    only: list[str] | None = None
    truths: list[str] | None = None  # names of functions of the check
    token: str | None = None  # of the one run to be made

    def text(self) -> str:
        return json.dumps(asdict(self))

    @classmethod
    def parse(cls, text: str) -> Order:
        found = json.loads(text)
        found["solved"] = {int(number): path for number, path in found["solved"].items()}
        return cls(**found)


def main(arguments: list[str]) -> int:
    order = Order.parse(arguments[0])
    lesson, own = read(Path(order.lesson)), Path(order.own)
    solved = {number: Path(path) for number, path in order.solved.items()}
    room = Path(order.room)
    with Path(order.out).open("a", encoding="utf-8") as out:

        def say(event: str, **what: Any) -> None:
            out.write(json.dumps({"event": event, **what}, default=float) + "\n")
            out.flush()

        clock = SystemClock()
        clock.start(lambda: watch(order, lesson, say, clock), "watchman")
        if order.task == "check":
            only = None if order.only is None else set(order.only)

            def begins(known: Verdict, lamps: tuple[str, ...]) -> None:
                say("asks", lamps=lamps, known=known.to_json())

            verdict = checking.check(lesson, own, solved, room, only, begins, order.token)
            say("verdict", verdict=verdict.to_json(), printed=printed())
        if order.task == "truth":
            for name in order.truths or []:
                say("truth", name=name, value=checking.truth(lesson, name, own, solved, room))
        if order.task == "picture" or (order.task == "check" and not verdict.is_passed):
            first = next(iter(verdict.said), "") if order.task == "check" else ""
            token = verdict.tokens.get(first) if first else None
            known = verdict.said.values() if order.task == "check" else ()
            _draw(lesson, own, solved, room, say, token, first, known)
        say("done")
    printed()
    os._exit(0)  # threads that the learner's code left behind have nothing to say here


def _draw(
    lesson: Lesson, own: Path, solved: dict[int, Path], room: Path, say: Say, token: str | None, lamp: str,
    known: Collection[str] = (),
) -> None:  # fmt: skip
    """The run that failed, where it can be made again; else what the lesson draws."""
    try:
        if token is None:
            drawn = checking.picture(lesson, own, solved, room)
        else:
            drawn = checking.failing(lesson, own, solved, token, lamp, room)
    except (Exception, SystemExit) as error:
        why = in_words(error, own / lesson.file, lesson.folder / "check.py")
        if why not in known:  # else the check has said so
            say("no picture", why=why)
        return
    if isinstance(drawn, Scene):
        say("scene", scene=drawn.to_json(), caption=drawn.title if token else "")
    else:
        say("text", text=str(drawn))


# ------------------------------------------------------------------------------- the watchman


def watch(order: Order, lesson: Lesson, say: Say, clock: SystemClock) -> None:
    """Look on; ends the process when something has gone too far."""
    deadline, parent = clock.deadline(order.seconds), os.getppid()
    begun = time.process_time()
    while True:
        clock.sleep(LOOK)
        why = ""
        if time.process_time() - begun > order.processor:
            why = f"it did not come to an end in {order.processor:g} seconds of processor time"
        elif deadline.is_over():
            why = f"it did not come to an end in {order.seconds:.0f} seconds"
        elif held() > MOST_HELD:
            why = f"it took more than {MOST_HELD >> 30} GiB of memory"
        elif printed(flush=False) > MOST_PRINTED:
            why = f"it printed more than {MOST_PRINTED >> 20} MiB"
        elif Path(order.stop).exists():
            why = "you stopped it"
        elif os.getppid() != parent:
            os._exit(STOPPED)
        if why:
            with suppress(Exception):
                say("stopped", why=why, where=[*places(Path(order.own) / lesson.file)])
            os._exit(STOPPED)


def printed(flush: bool = True) -> int:
    """Bytes; the code may have closed or replaced what it prints to."""
    with suppress(Exception):
        if flush:
            sys.stdout.flush()
        return os.fstat(1).st_size
    return 0


def held() -> int:
    """The most memory that this process ever held, in bytes; 0 where that cannot be told.

    Linux is asked for the program's own: `ru_maxrss` counts what the process that started it held.
    """
    with suppress(OSError, StopIteration, ValueError):
        lines = Path("/proc/self/status").read_text().splitlines()
        return int(next(line for line in lines if line.startswith("VmHWM:")).split()[1]) << 10
    try:
        import resource
    except ImportError:  # not a Unix
        return 0
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (
        1 if sys.platform == "darwin" else 1024
    )


def places(file: Path) -> Iterator[str]:
    """Where in this file the threads are, with the variables there."""
    said = set()
    for frame in sys._current_frames().values():
        here: FrameType | None = frame
        while here is not None and Path(here.f_code.co_filename).resolve() != file.resolve():
            here = here.f_back
        if here is not None:
            values = ", ".join(
                f"{name} = {value!r}" for name, value in list(here.f_locals.items())
                if type(value) in (int, float, str, bool) and len(repr(value)) < 30
            )  # fmt: skip
            place = f"{file.name}:{here.f_lineno}, in {here.f_code.co_name}"
            if place not in said:
                said.add(place)
                yield place + (f", where {values}" if values else "")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
