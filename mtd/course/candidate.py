"""The process in which a learner's code is judged: `python -m mtd.course.candidate ORDER`.

It writes each finding at once, as a line of JSON, which has some of the fields of `Findings`. So a finding stays known, whatever
the code does later: it may loop without end, exit, take all memory, or crash the interpreter. A watchman looks on and, when
something goes too far, writes where the code is, and ends the process. `examination` is the other side.
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
from dataclasses import dataclass, field
from pathlib import Path
from types import FrameType
from typing import Any, get_type_hints

from minitorch_dist.pictures.scene import Scene
from mtd.course import checking, one_model, real_wires, records
from mtd.course.explain import in_words, is_blank
from mtd.course.path import LessonAnswer
from mtd.course.real_wires.swapping import WireRun
from mtd.course.verdict import CheckVerdict
from mtd.grids.grid import Grid
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
    answer: LessonAnswer
    folder: Path  # for what is found, and for temporary files
    processor: float  # seconds
    seconds: float
    only: list[str] | None = None
    truths: list[str] = field(default_factory=list)  # names of functions of the check
    token: str | None = None  # of the one run to be made
    # Over which wires, with how many ranks, on which network.
    wire: dict[str, Any] = field(default_factory=dict)

    @property
    def found(self) -> Path:
        return self.folder / "found"

    @property
    def stop(self) -> Path:
        """It appears when nobody wants to know any more."""
        return self.folder / "stop"


@dataclass(eq=False)
class Findings:
    """All that is known of the code."""

    known: CheckVerdict  # of the lamps before those that are looked at
    asks: tuple[str, ...] = ()  # the lamps that are looked at
    verdict: CheckVerdict | None = None
    printed_before: int | None = None  # bytes, before the picture was drawn
    remarks: list[str] = field(default_factory=list)  # what the library logged
    scene: Scene | None = None
    caption: str = ""  # which run the scene is of
    grid: Grid | None = None  # what the ranks held
    text: str = ""  # a picture that is text
    no_picture: str = ""  # why there is none
    truths: dict[str, float] = field(default_factory=dict)
    runs: list[WireRun] = field(default_factory=list)  # over the wires that were tried
    step: one_model.ModelStep | None = None  # of the course's model
    alone: float = 0.0  # the loss of this step on one rank
    stopped: str = ""  # why the code was stopped
    where: list[str] = field(default_factory=list)  # it was then

    def take(self, line: str) -> None:
        """A line of the process; lists and dicts grow by what is new."""
        for name, value in json.loads(line).items():
            found, before = records.made(KINDS[name], value), getattr(self, name)
            if isinstance(before, list):
                found = before + [one for one in found if one not in before]
            setattr(self, name, before | found if isinstance(before, dict) else found)


KINDS = get_type_hints(Findings)


def main(arguments: list[str]) -> int:
    order: CheckOrder = records.made(CheckOrder, json.loads(arguments[0]))
    with order.found.open("a", encoding="utf-8") as out:

        def say(**found: Any) -> None:
            out.write(json.dumps(found, default=records.plain) + "\n")
            out.flush()

        tempfile.tempdir = str(order.folder)  # it goes away, however this process ends
        set_apart(lambda words: say(remarks=[words]))
        sys.unraisablehook = OnceEach(order.answer.file)
        clock = SystemClock()
        clock.start(lambda: watch(order, say, clock), "watchman")
        TASKS[order.task](order, say)
        say(stopped="")
    printed()
    os._exit(0)  # threads that the learner's code left behind have nothing to say here


def _check(order: CheckOrder, say: Say) -> None:
    def begins(known: CheckVerdict, lamps: tuple[str, ...]) -> None:
        say(asks=lamps, known=known)

    verdict = checking.check(order.answer, order.only, begins, order.token)
    say(verdict=verdict, printed_before=printed(), asks=())
    _show(order.answer, say, verdict)


def _measure(order: CheckOrder, say: Say) -> None:
    for name in order.truths:
        say(truths={name: checking.truth(order.answer, name)})


def _over_wires(order: CheckOrder, say: Say) -> None:
    with order.answer.searched():
        for run in real_wires.swap_wires(order.answer.lesson, **order.wire):
            say(runs=[run])


def _train(order: CheckOrder, say: Say) -> None:
    with order.answer.searched():
        say(step=one_model.run(order.answer.lesson), alone=one_model.loss_of_one_rank())


TASKS: dict[str, Callable[[CheckOrder, Say], None]] = {
    "check": _check,
    "picture": lambda order, say: _show(order.answer, say),
    "truth": _measure,
    "wire": _over_wires,
    "model": _train,
}


def _show(answer: LessonAnswer, say: Say, verdict: CheckVerdict | None = None) -> None:
    """Draw the contents of the ranks, and the picture of the lesson; after a check that passed only the first."""
    lamp = verdict.first_out if verdict else ""
    with suppress(Exception, SystemExit), answer.searched():  # what goes wrong is told otherwise
        grid = _grid(answer, verdict, lamp)
        if grid is not None:
            say(grid=grid)
    if lamp == "runs" or (verdict is not None and verdict.is_passed):  # nothing could run, or all is well
        return
    try:
        with answer.searched():
            caption, drawn = _picture(answer, verdict, lamp)
    except (Exception, SystemExit) as error:
        why = in_words(error, answer.file, answer.check_file)
        if verdict is None or why not in verdict.said.values():  # else the check has said so
            say(no_picture=why)
        return
    if isinstance(drawn, Scene):
        say(scene=drawn, caption=caption)
    elif drawn is None:
        number = answer.lesson.number
        say(no_picture=f"this check draws no run; mtd show {number} draws what your code does")
    else:
        say(text=str(drawn))


def _grid(answer: LessonAnswer, verdict: CheckVerdict | None, lamp: str) -> Grid | None:
    """After a check that found something wrong, only one in which a cell is wrong."""
    if verdict is not None and not verdict.lamps:
        return None  # something is still to be written
    check = checking.load(answer.lesson)
    if verdict is None or verdict.is_passed or not lamp or lamp in verdict.costs:
        return checking.contents(check)
    return checking.wrong_contents(check, lamp, verdict.tokens.get(lamp, ""))


def _picture(answer: LessonAnswer, verdict: CheckVerdict | None, lamp: str) -> tuple[str, Any]:
    """Which run it is of, and what is drawn; None where there is nothing to draw."""
    if verdict is None:
        return "", checking.drawn(checking.load(answer.lesson))
    if lamp in verdict.costs:  # it is correct, and costs too much
        return "what your code does", checking.drawn(checking.load(answer.lesson))
    scene = checking.failed_run(answer, lamp, verdict.tokens.get(lamp, ""))
    return scene.title if scene else "", scene


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


def watch(order: CheckOrder, say: Say, clock: SystemClock) -> None:
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
        elif order.stop.exists():
            why = BY_YOU
        elif os.getppid() != parent:
            os._exit(STOPPED)
        if why:
            with suppress(Exception):
                say(stopped=why, where=[*places(order.answer.file)])
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
    stacks = [_frames_in(file, frame) for frame in sys._current_frames().values()]
    own = [next((one for one in inside if is_blank(text, one.f_lineno)), None) for inside in stacks]
    for here in own if any(own) else [next(iter(inside), None) for inside in stacks]:
        if here is not None:
            values = ", ".join(
                f"{name} = {value!r}"
                for name, value in list(here.f_locals.items())
                if type(value) in (int, float, str, bool) and len(repr(value)) < 30
            )
            line = text.split("\n")[here.f_lineno - 1].strip()
            place = f"{file.name}:{here.f_lineno}, in {here.f_code.co_name}"
            if place not in said:
                said.add(place)
                yield place + (f", where {values}" if values else "") + f": {line}"


def _frames_in(file: Path, frame: FrameType) -> list[FrameType]:
    """The frames of this stack that stand on a line of this file, the innermost first."""
    stack = [one for one, line in traceback.walk_stack(frame) if line is not None]
    return [one for one in stack if Path(one.f_code.co_filename).resolve() == file.resolve()]


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
