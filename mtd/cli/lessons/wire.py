"""`mtd wire 13`: your file in the simulator, then in processes over tcp, over a folder, over mqtt.

Nothing of the file changes but the address of its world. One screen has the results, and virtual beside measured time.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterable, Sequence
from pathlib import Path

from rich.text import Text

from minitorch_dist.sim import nets
from mtd.cli.lessons import report
from mtd.cli.lessons.commands import about
from mtd.cli.page import Page, listed, marked
from mtd.cli.parser import Parser
from mtd.course.examination import Examination
from mtd.course.lesson import Lesson, LessonError, all_lessons
from mtd.course.real_wires.program import TIMES
from mtd.course.real_wires.swapping import FILE, MQTT, NET, RANKS, SIM, WIRES, WireRun, has_wires
from mtd.course.source import unwritten
from mtd.course.workspace import Workspace
from transports.quantities import in_words

ALL = "all"
MOST = 12  # ranks
MODULE = "mtd.course.real_wires"
WHERE = {"tcp": "sockets of this machine", "file": "files in a folder", "mqtt": "a broker of its own"}


def configure(parser: Parser) -> None:
    parser.takes(f"""
        lesson?                                       13, ring or 13_ring (the one where you are)
        --ranks RANKS: int = {RANKS}                  how many (%(default)s)
        --net|--over NET...                           one of {", ".join(WIRES)} (all); or the simulator's network: an address, or a file of mtd calibrate ({NET})
    """)
    parser.set_defaults(run=about(run), epilog="mtd wire 13")


def run(page: Page, workspace: Workspace, lesson: Lesson, options: argparse.Namespace) -> int:
    wires, net = _wires(options.net)
    order = {"wires": wires, "ranks": _ranks(options.ranks), "net": _net(net)}
    _refuse(workspace, lesson)
    report.heading(page, lesson)
    page.say()
    page.say(f"{lesson.file} on {options.ranks} ranks. The simulator is first, then each rank is a process.")
    page.say()
    page.as_it_is(_line("wire", "result", "virtual", "measured"))
    with Examination.of(workspace, lesson, "wire", wire=order) as exam:
        shown = 0
        try:
            while not exam.poll(0.1) or shown < len(exam.runs):
                for one in exam.runs[shown:]:
                    page.say(_row(one, exam.runs[0].time))
                    shown += 1
        except KeyboardInterrupt:
            exam.stop()
            page.say()
            page.say("You stopped it. All its processes have ended.")
            return 130
        page.say()
        return _end(page, exam, lesson, wires, net)


def _ranks(count: int) -> int:
    if not 1 <= count <= MOST:
        raise LessonError(f"--ranks is {count}; it goes from 1 to {MOST}")
    return count


def _wires(given: Sequence[str]) -> tuple[Sequence[str], str]:
    """The wires that are wanted, and the network of the simulator, which always takes part."""
    named = [word for word in given if word in WIRES]
    networks = [word for word in given if word not in (*WIRES, ALL)]
    if len(networks) > 1:
        raise LessonError(f"--net: the simulator has one network, not {' and '.join(networks)}")
    wires = WIRES if ALL in given or not named else tuple(dict.fromkeys([SIM, *named]))
    return wires, networks[0] if networks else NET


def _net(given: str) -> str:
    """For another process, which has another current folder."""
    try:
        nets.read(given)
    except (ValueError, OSError) as error:
        raise LessonError(f"--net: {error}") from error
    return str(Path(given).resolve()) if Path(given).is_file() else given


def _refuse(workspace: Workspace, lesson: Lesson) -> None:
    known = [one.number for one in all_lessons(workspace.room) if has_wires(one)]
    if lesson.number not in known:
        there = f"there are {listed(known)}" if known else "no lesson here has any"
        raise LessonError(f"lesson {lesson.number} has no program for real wires; {there}")
    blanks = unwritten(workspace.text_of(lesson), lesson.number)
    if blanks:
        raise LessonError(
            f"{len(blanks)} to be written in {lesson.file}; the first is {blanks[0]}. First mtd check {lesson.number}"
        )


# ------------------------------------------------------------------------------------------ the screen


def _line(*words: str) -> str:
    first, second, third, fourth = words
    return f"{first:<6}{second:<12}{third:>12}{fourth:>14}"


def _row(run: WireRun, virtual: int) -> Text:
    if run.wrong:
        return marked(f"{run.wire:<6}", ("✘", "red"))
    measured = "" if run.wire == SIM else _short(run.time)
    words = _line(run.wire, f"  {run.digest}", _short(virtual), measured)
    where = f"   {WHERE[run.wire]}" if run.wire in WHERE else "   threads of one process"
    return marked(words[:6], ("✔", "green"), words[7:], (where, "dim"))


def _short(picoseconds: int) -> str:
    """Three digits."""
    number, unit = in_words(picoseconds).split()
    return f"{float(number):.3g} {unit}" if float(number) < 1000 else f"{float(number):.0f} {unit}"


def _end(page: Page, exam: Examination, lesson: Lesson, wires: Iterable[str], net: str) -> int:
    if exam.printed:
        page.say("your code printed:", "dim")
        page.say(exam.printed, indent=2)
        page.say()
    wrong = next((one for one in exam.runs if one.wrong), None)
    if wrong is not None or exam.stopped:
        head, *lines = (wrong.wrong if wrong else f"your code was stopped: {exam.stopped}").split("\n")
        page.tell(("✘ ", "red"), head)
        for line in [*lines, *exam.where]:
            page.say(line.strip(), indent=4)
        left = [name for name in wires if name not in [one.wire for one in exam.runs]]
        if left:
            page.say(f"({listed(left)}: not tried)", "dim")
        return 1
    if len(exam.runs) > 1:
        page.say("All results are equal, bit for bit.")
    page.say()
    _why_times_differ(page, lesson, wires, net)
    page.say()
    _second_machine(page, lesson)
    return 0


def _why_times_differ(page: Page, lesson: Lesson, wires: Iterable[str], net: str) -> None:
    page.say(f"Virtual time counts messages on a network ({net}) and nothing else.")
    page.say(
        f"Measured time is the shortest of {TIMES} runs. It also has Python, the system, and ranks that share the cores."
    )
    if FILE in wires:
        page.say("Over file a rank asks again and again whether a file has grown.")
    if MQTT in wires:
        page.say("Over mqtt each message takes two ways: to the broker, and from there to its rank.")
    measure, then = "mtd calibrate tcp://", f"mtd wire {lesson.number} --net links-tcp.json"
    words = ("Closer times: ", (measure, "bold"), " measures this machine. Then: ")
    page.tell(*words, (then, "bold"))


def _second_machine(page: Page, lesson: Lesson) -> None:
    page.say("An exercise: the same on two machines. Copy your course to both, and run in it on each")
    page.as_it_is("mtdrun --nnodes 2 --nproc-per-node 2 --rdzv-backend c10d \\", indent=2)
    page.as_it_is(f"  --rdzv-endpoint FIRST:29400 -m {MODULE} {lesson.number}", indent=2)
    page.say("FIRST is the name or address of one of them.")
