"""The process in which a learner's code is judged: `python -m mtd.course.candidate ORDER`.

It writes each finding at once, as a line of JSON. So a finding stays known, whatever the code does later: it may loop without
end, exit, take all memory, or crash the interpreter. A watchman looks on and, when something goes too far, writes where the
code is, and ends the process. `examination` is the other side.
"""

from __future__ import annotations

import json
import logging
import os
import sys
import tempfile
import time
import traceback
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from types import FrameType
from typing import Any

from minitorch_dist.pictures.scene import Scene
from mtd.course import checking, one_model, real_wires
from mtd.course.explain import in_words, is_blank
from mtd.course.lesson import Lesson, number_of, read
from mtd.course.path import folders, searched
from mtd.course.verdict import CheckVerdict
from transports.clock import SystemClock

LOOK = 0.05  # seconds between two looks of the watchman
MOST_HELD = 4 << 30  # bytes
MOST_PRINTED = 20 << 20
STOPPED = 3  # exit status
BY_YOU = "you stopped it"
LIBRARY = ("minitorch_dist", "transports", "mtd")  # whose loggers are ours

Say = Callable[..., None]


@dataclass
class CheckOrder:
    """One order to the process: the code, and what to do with it."""

    task: str  # check, picture, truth, wire, model
    lesson: str  # its folder
    own: str  # the folder of the learner's file
    solved: dict[float, str]
    room: str
    out: str  # the file for what is found
    stop: str  # a file that appears when nobody wants to know any more
    processor: float  # seconds
    seconds: float
    only: list[str] | None = None
    truths: list[str] | None = None  # names of functions of the check
    token: str | None = None  # of the one run to be made
    wire: dict[str, Any] | None = None  # over which wires, with how many ranks, on which network

    def text(self) -> str:
        return json.dumps(asdict(self))

    @classmethod
    def parse(cls, text: str) -> CheckOrder:
        found = json.loads(text)
        found["solved"] = {number_of(number): path for number, path in found["solved"].items()}
        return cls(**found)


def main(arguments: list[str]) -> int:
    order = CheckOrder.parse(arguments[0])
    lesson, own = read(Path(order.lesson)), Path(order.own)
    solved = {number: Path(path) for number, path in order.solved.items()}
    room = Path(order.room)
    with Path(order.out).open("a", encoding="utf-8") as out:

        def say(event: str, **what: Any) -> None:
            out.write(json.dumps({"event": event, **what}, default=float) + "\n")
            out.flush()

        tempfile.tempdir = str(Path(order.out).parent)  # it goes away, however this process ends
        set_apart(lambda words: say("remark", words=words))
        sys.unraisablehook = OnceEach(own / lesson.file)
        clock = SystemClock()
        clock.start(lambda: watch(order, lesson, say, clock), "watchman")
        if order.task == "check":
            only = None if order.only is None else set(order.only)

            def begins(known: CheckVerdict, lamps: tuple[str, ...]) -> None:
                say("asks", lamps=lamps, known=known.to_json())

            verdict = checking.check(lesson, own, solved, room, only, begins, order.token)
            say("verdict", verdict=verdict.to_json(), printed=printed())
        if order.task == "truth":
            for name in order.truths or []:
                say("truth", name=name, value=checking.truth(lesson, name, own, solved, room))
        if order.task == "wire":
            with searched(folders(lesson, own, solved, room), room):
                for run in real_wires.swap_wires(lesson, **order.wire or {}):
                    say("wire", run=asdict(run))
        if order.task == "model":
            with searched(folders(lesson, own, solved, room), room):
                say("model", step=one_model.run(lesson).to_json(), alone=one_model.loss_of_one_rank())
        if order.task in ("picture", "check"):
            with suppress(Exception, SystemExit):  # what goes wrong is told otherwise
                _fill(lesson, own, solved, room, say, verdict if order.task == "check" else None)
        if order.task == "picture" or (order.task == "check" and not verdict.is_passed):
            _draw(lesson, own, solved, room, say, verdict if order.task == "check" else None)
        say("done")
    printed()
    os._exit(0)  # threads that the learner's code left behind have nothing to say here


def _draw(
    lesson: Lesson, own: Path, solved: dict[float, Path], room: Path, say: Say, verdict: CheckVerdict | None
) -> None:
    """Draw the code as the lesson does. After a check that it did not pass, draw the run that failed, if one did."""
    lamp = _first_out(verdict)
    if lamp == "runs":  # nothing could run
        return
    try:
        caption, drawn = _picture(lesson, own, solved, room, verdict, lamp)
    except (Exception, SystemExit) as error:
        why = in_words(error, own / lesson.file, lesson.folder / "check.py")
        if verdict is None or why not in verdict.said.values():  # else the check has said so
            say("no picture", why=why)
        return
    if isinstance(drawn, Scene):
        say("scene", scene=drawn.to_json(), caption=caption)
    elif drawn is None:
        why = f"this check draws no run; mtd show {lesson.number} draws what your code does"
        say("no picture", why=why)
    else:
        say("text", text=str(drawn))


def _fill(
    lesson: Lesson, own: Path, solved: dict[float, Path], room: Path, say: Say, verdict: CheckVerdict | None
) -> None:
    """Draw what the ranks hold. After a check that found something wrong, only where a cell is wrong."""
    if verdict is not None and not verdict.lamps:
        return  # something is still to be written
    lamp = "" if verdict is not None and verdict.is_passed else _first_out(verdict)
    with searched(folders(lesson, own, solved, room), room):
        check = checking.load(lesson)
        is_wrong = verdict is not None and lamp and lamp not in verdict.costs
        token = verdict.tokens.get(lamp, "") if verdict is not None else ""
        grid = checking.wrong_contents(check, lamp, token) if is_wrong else checking.contents(check)
    if grid is not None:
        say("grid", grid=grid.to_json())


def _first_out(verdict: CheckVerdict | None) -> str:
    """The first lamp that is out and says why. A lamp that was skipped says why, too, but is not out."""
    out = [] if verdict is None else [name for name in verdict.said if verdict.lamps[name] is not None]
    return out[0] if out else ""


def _picture(
    lesson: Lesson, own: Path, solved: dict[float, Path], room: Path, verdict: CheckVerdict | None, lamp: str
) -> tuple[str, Any]:
    """Which run it is of, and what is drawn; None where there is nothing to draw."""
    with searched(folders(lesson, own, solved, room), room):
        if verdict is None:
            return "", checking.drawn(checking.load(lesson))
        if lamp in verdict.tokens:
            scene = checking.failing(lesson, verdict.tokens[lamp], lamp)
            return scene.title, scene
        if lamp in verdict.costs:  # it is correct, and costs too much
            return "what your code does", checking.drawn(checking.load(lesson))
        return "the run that failed", checking.failed_run(lesson, own, lamp)


def set_apart(tell: Callable[[str], None]) -> None:
    """Hand what the library logs to `tell`: it is no output of the learner's code."""

    class Telling(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            tell(record.getMessage())

    for name in LIBRARY:
        logger = logging.getLogger(name)
        logger.addHandler(Telling())
        logger.propagate = False


class OnceEach:
    """`sys.unraisablehook`: an error that no caller can get (a finalizer's) is printed once, in words instead of a traceback."""

    def __init__(self, file: Path) -> None:
        self.file, self.told = file, set[tuple[object, ...]]()

    def __call__(self, found: Any) -> None:
        error = found.exc_value or found.exc_type()
        kind = found.exc_type, *(line for _, line in traceback.walk_tb(found.exc_traceback))
        if kind not in self.told:
            self.told.add(kind)
            said = f"Python called a function because an object was freed, and it raised {in_words(error, self.file)}"
            print(said, file=sys.stderr)


# ------------------------------------------------------------------------------- the watchman


def watch(order: CheckOrder, lesson: Lesson, say: Say, clock: SystemClock) -> None:
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
            why = BY_YOU
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
    """The most memory that this process ever held, in bytes; 0 where that cannot be known.

    Linux is asked for the program's own: `ru_maxrss` counts what the process that started it held.
    """
    with suppress(OSError, StopIteration, ValueError):
        lines = Path("/proc/self/status").read_text().splitlines()
        return int(next(line for line in lines if line.startswith("VmHWM:")).split()[1]) << 10
    try:
        import resource
    except ImportError:  # not a Unix
        return 0
    unit = 1 if sys.platform == "darwin" else 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit


def places(file: Path) -> Iterator[str]:
    """Where in this file the threads are, with the variables there. Given lines are named only if no thread
    is in one of the learner's, or in what such a line called."""
    said, text = set(), file.read_text("utf-8")
    stacks = [[*_frames_in(file, frame)] for frame in sys._current_frames().values()]
    own = [next((one for one in inside if is_blank(text, one.f_lineno)), None) for inside in stacks]
    for here in own if any(own) else [next(iter(inside), None) for inside in stacks]:
        if here is not None:
            values = ", ".join(
                f"{name} = {value!r}" for name, value in list(here.f_locals.items())
                if type(value) in (int, float, str, bool) and len(repr(value)) < 30
            )  # fmt: skip
            line = text.split("\n")[here.f_lineno - 1].strip()
            place = f"{file.name}:{here.f_lineno}, in {here.f_code.co_name}"
            if place not in said:
                said.add(place)
                yield place + (f", where {values}" if values else "") + f": {line}"


def _frames_in(file: Path, frame: FrameType | None) -> Iterator[FrameType]:
    """The frames of this stack that stand on a line of this file, the innermost first."""
    while frame is not None:
        is_here = Path(frame.f_code.co_filename).resolve() == file.resolve()
        if is_here and frame.f_lineno is not None:
            yield frame
        frame = frame.f_back


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
