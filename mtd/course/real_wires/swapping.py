"""One wire after the other under the same file: the simulator first, whose result all others must have."""

from __future__ import annotations

import importlib.util
import multiprocessing
import sys
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from datetime import timedelta
from functools import partial
from multiprocessing import forkserver
from pathlib import Path
from typing import Any

from minitorch_dist import sim
from minitorch_dist.distributed.exceptions import DistTimeout, PeerFailed, PeerLost
from minitorch_dist.launching import processes
from minitorch_dist.launching.limit import OutOfTime
from mtd.course.explain import in_words
from mtd.course.lesson import Lesson, read
from mtd.course.real_wires import differences, program
from mtd.course.real_wires.program import LessonWire
from transports import keeper
from transports.broker import launch as brokers

SIM, TCP, FILE, MQTT = WIRES = ("sim", "tcp", "file", "mqtt")
REAL = (TCP, FILE, MQTT)
NET = "sim://?latency=20us&rate=10Gb/s"
RANKS = 3
PATIENCE = 30.0  # seconds for which a rank waits for one message
SETTLING = 120.0  # seconds for processes to begin and to find each other, on a busy machine
LIMIT = 60.0  # seconds more than that: a rank that computes for ever waits for nobody
PRELOADED = [program.__name__, "mtd.course.checking"]  # what a rank and `candidate` import
IN_SIM = "in the simulator"
HANGS = (DistTimeout, OutOfTime, TimeoutError)


@dataclass(frozen=True)
class WireRun:
    """The result of a learner's file over one wire."""

    wire: str
    ranks: int
    digest: str = ""
    time: int = 0  # picoseconds of the slowest rank: virtual over sim, measured over the others
    wrong: str = ""  # what is wrong, in words


def has_wires(lesson: Lesson) -> bool:
    return (lesson.folder / "wire.py").is_file()


def demand(check: str) -> None:
    """For a lesson's check, `demand(__file__)`: an AssertionError says what is wrong over which wire."""
    lesson = read(Path(check).parent)
    wrong = [run.wrong for run in swap_wires(lesson) if run.wrong]
    assert not wrong, wrong[0]


def swap_wires(
    lesson: Lesson, wires: Sequence[str] = WIRES, *, ranks: int = RANKS, net: str = NET, patience: float = PATIENCE
) -> Iterator[WireRun]:
    """Run the lesson's program over each wire; nothing is run after the first that is wrong.

    The modules that are searched now are taken (`path.searched`). The simulator is always first.
    """
    found_at = importlib.util.find_spec(lesson.module)
    assert found_at is not None and found_at.origin is not None, "a lesson's module is always found"
    file = Path(found_at.origin)
    expected: list[Any] | None = None
    with ExitStack() as stack:
        folder = stack.enter_context(keeper.temporary_folder("wire-"))
        stack.enter_context(_own_program(lesson))
        if set(wires) - {SIM}:
            stack.enter_context(_fork_server())
        for name in [SIM, *(name for name in wires if name != SIM)]:
            with ExitStack() as here:
                try:
                    wire = _wire(name, Path(folder), net, patience, here)
                    found = _ranks_over(wire, lesson, ranks)
                except Exception as error:
                    yield WireRun(name, ranks, wrong=_failed(error, name, lesson, file))
                    return
            results, time = [one[0] for one in found], max(one[1] for one in found)
            expected = results if expected is None else expected
            wrong = "" if name == SIM else _parted(expected, results, name, lesson, file)
            yield WireRun(name, ranks, differences.digest(results), time, wrong)
            if wrong:
                return


# ------------------------------------------------------------------------------------ ranks over a wire


def _wire(name: str, folder: Path, net: str, patience: float, here: ExitStack) -> LessonWire:
    shared = folder / name
    shared.mkdir()
    address = {SIM: net, TCP: "tcp://", FILE: f"file://{shared / 'world'}"}.get(name)
    if address is None:
        address = here.enter_context(brokers.start()).address
    return LessonWire(name, address, str(shared), patience)


def _ranks_over(wire: LessonWire, lesson: Lesson, ranks: int) -> list[tuple[list[Any], int]]:
    arguments = (str(lesson.folder), wire)
    if wire.name == SIM:
        return sim.run(program.run, ranks, arguments, net=wire.address).results
    one, settling = partial(program.run, *arguments), timedelta(seconds=SETTLING)
    limit, method = SETTLING + LIMIT, _start_method()
    return processes.run(one, ranks, wire.address, settling, limit=limit, start_method=method)


@contextmanager
def _own_program(lesson: Lesson) -> Iterator[None]:
    """The lesson's wire.py is loaded anew, and forgotten afterwards."""
    name = program.name_of(lesson.folder)
    sys.modules.pop(name, None)
    try:
        yield
    finally:
        sys.modules.pop(name, None)


def _start_method() -> str:
    """A fork server imports the library once for all ranks; where there is none, each process does."""
    known = multiprocessing.get_all_start_methods()
    return "forkserver" if "forkserver" in known else "spawn"


@contextmanager
def _fork_server() -> Iterator[None]:
    """multiprocessing would keep the server until this process ends."""
    if _start_method() != "forkserver":
        yield
        return
    multiprocessing.set_forkserver_preload(PRELOADED)
    server: Any = forkserver._forkserver
    try:
        yield
    finally:
        server._stop()


# ---------------------------------------------------------------------------------------------- in words


def _failed(error: Exception, wire: str, lesson: Lesson, file: Path) -> str:
    said = in_words(error, file, lesson.folder / "wire.py")
    if wire == SIM:
        return f"{IN_SIM}: {said}"
    if isinstance(error, HANGS) and not isinstance(error, AssertionError):
        said = f"it hangs. {said}"
    elif isinstance(error, PeerFailed | PeerLost):
        said = f"a rank ended early. {said}"
    note = _frames_told(error, file)
    return "\n    ".join([f"over {wire}: {said}", *note, *_shared(lesson, file)])


def _frames_told(error: Exception, file: Path) -> list[str]:
    """The learner's line, out of the traceback that the rank's process sent."""
    lines = "\n".join(getattr(error, "__notes__", [])).split("\n")
    at = [number for number, line in enumerate(lines) if f'"{file}", line ' in line]
    if not at:
        return []
    place = lines[at[-1]].partition('", line ')[2].partition(",")[0]
    code = lines[at[-1] + 1].strip() if at[-1] + 1 < len(lines) else ""
    return [f"{file.name}:{place}: {code}"]


def _parted(expected: Any, found: Any, wire: str, lesson: Lesson, file: Path) -> str:
    for rank, (one, other) in enumerate(zip(expected, found, strict=True)):
        for turn, (before, now) in enumerate(zip(one, other, strict=True)):
            parted = differences.first(before, now)
            if parted is not None:
                place, theirs, ours = parted
                said = (
                    f"over {wire} rank {rank} has another result than {IN_SIM}. In run {turn + 1} {place} is {ours}, "
                    f"and {theirs} {IN_SIM}"
                )
                return "\n    ".join([said, *_shared(lesson, file)])
    return ""


def _shared(lesson: Lesson, file: Path) -> list[str]:
    """A cause that is often met: the ranks of the simulator are threads of one process."""
    text = file.read_text("utf-8")
    kept = differences.kept_by_module(text, lesson.source.solution())
    if not kept:
        return []
    names = ", ".join(f"{name} ({file.name}:{line})" for name, line in kept)
    return [
        f"{names}: in the simulator all ranks share it, since they are threads of one process",
        "over a real wire each rank is a process, and has one of its own",
    ]
