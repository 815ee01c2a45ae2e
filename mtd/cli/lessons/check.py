"""`mtd check 13`: is it correct, and as cheap as can be?

Your code runs in a process of its own, so nothing that it does hurts, and Ctrl-C says where it was.
"""

from __future__ import annotations

import argparse

from rich.progress import Progress as Bar, SpinnerColumn, TextColumn, TimeElapsedColumn

from minitorch_dist.testing.collectives import parse
from mtd.cli.lessons import report
from mtd.cli.lessons.commands import about, opened
from mtd.cli.lessons.desk import LessonDesk
from mtd.cli.page import Page, listed, refuse
from mtd.cli.parser import Parser
from mtd.course import bounds
from mtd.course.examination import Examination
from mtd.course.lesson import Lesson, LessonError
from mtd.course.verdict import CheckVerdict
from mtd.course.workspace import Workspace
from transports.clock import SystemClock

TICK = 0.3  # seconds between two looks at the file


def configure(parser: Parser) -> None:
    parser.takes("""
        lesson?         13, ring or 13_ring (the one where you are)
        --all           every lesson that you have begun
        --watch         again whenever you save; Ctrl-C ends
        -q, --quiet     the lamps, and one line
        --only LAMP     only what decides about this lamp
        --replay TOKEN  only the run of this token (mtc1:…)
    """)
    parser.excludes("--all", "lesson", "--watch", "--quiet", "--only", "--replay")
    parser.excludes("--replay", "--only")
    parser.set_defaults(run=run, epilog="mtd check 13")


def run(options: argparse.Namespace) -> int:
    if options.all:
        return _all(options)
    return about(_watched if options.watch else _one)(options)


def _watched(page: Page, workspace: Workspace, lesson: Lesson, options: argparse.Namespace) -> int:
    """The course without keys, for terminals that give none."""
    desk, clock, seen = LessonDesk(workspace, lesson), SystemClock(), None
    status = 0
    while True:
        stamp = desk.file_stamp()
        if stamp is not None and stamp != seen:
            seen = stamp
            try:
                status = _one(page, workspace, lesson, options)
            except LessonError as error:
                refuse("check", error)
            page.say()
            name = workspace.file(lesson).relative_to(workspace.folder)
            page.say(f"Save {name} and it is checked again. Ctrl-C ends this.", "dim")
        try:
            clock.sleep(TICK)
        except KeyboardInterrupt:
            page.say()
            return status


def _one(page: Page, workspace: Workspace, lesson: Lesson, options: argparse.Namespace) -> int:
    if not options.quiet:
        report.heading(page, lesson)
        page.say()
    for earlier in workspace.gone(lesson, workspace.progress()):
        page.say(f"({report.gone(workspace, earlier)})", "dim")
    for earlier in workspace.changed_since(lesson, workspace.progress()):
        try:
            verdict = examined(page, workspace, earlier).verdict
        except LessonError as error:
            page.say(f"({error}; ours is used)", "dim")
            continue
        state = "still passes" if verdict and verdict.is_passed else "does not pass: ours is used"
        page.say(f"(your lesson {earlier.number} has changed since it passed; it {state})", "dim")
    only = None if options.only is None else [_lamp(lesson, options.only)]
    token = _token(options.replay)
    exam = examined(page, workspace, lesson, only=only, token=token)
    verdict = exam.verdict
    if verdict is None:
        raise LessonError(f"the check did not begin: {exam.printed or exam.stopped}")
    if token is not None and verdict.is_passed:
        page.say("This run does not fail: the file is not that of then.")
        return 0
    if options.quiet:
        report.quietly(page, verdict)
        return 0 if verdict.is_passed else 1
    report.verdict(page, workspace, exam, workspace.progress())
    if verdict.lamps:
        workspace.explained(lesson)
    return 0 if verdict.is_passed else 1


def _lamp(lesson: Lesson, given: str) -> str:
    """LessonError where the lesson's check has no such lamp."""
    names = bounds.of_lesson(lesson)
    if given not in names:
        raise LessonError(f"lesson {lesson.number} has no lamp {given!r}; it has {listed([*names])}")
    return given


def _token(given: str | None) -> str | None:
    """LessonError where it is none."""
    if given is not None:
        try:
            parse(given)
        except (ValueError, KeyError) as error:
            raise LessonError(
                f"{given!r} is no token of a check, like mtc1:all_reduce;ranks=3;count=1;op=sum;eager"
            ) from error
    return given


def examined(
    page: Page, workspace: Workspace, lesson: Lesson, *, only: list[str] | None = None, token: str | None = None
) -> Examination:
    """Check it, with something that moves meanwhile, and enter the result."""
    columns = SpinnerColumn("line"), TextColumn("{task.description}"), TimeElapsedColumn()
    with (
        Examination.of(workspace, lesson, only=only, token=token) as exam,
        Bar(*columns, console=page.console, transient=True, disable=page.is_plain) as bar,
    ):
        task = bar.add_task(f"lesson {lesson.number}")
        try:
            while not exam.poll(0.1):
                bar.update(task, description=f"lesson {lesson.number}: {', '.join(exam.asks) or 'begins'}")
        except KeyboardInterrupt:
            exam.stop()
            if exam.verdict is None:
                raise
    if only is None and token is None:
        exam.keep(workspace)
    return exam


def _all(options: argparse.Namespace) -> int:
    """A line for each lesson that was begun."""
    page = Page()
    workspace, _ = opened(page)
    begun = [lesson for lesson in workspace.lessons() if workspace.is_begun(lesson)]
    failed = []
    for lesson in begun:
        verdict = examined(page, workspace, lesson).verdict
        page.tell((f"{lesson.label} {lesson.title}  ", "bold"), *state(verdict))
        if verdict is None or not verdict.is_passed:
            failed.append(lesson.number)
    if not begun:
        page.tell("No lesson is begun yet. ", ("mtd", "bold"), " opens the first one.")
    if failed:
        page.tell("More about the first: ", (f"mtd check {failed[0]}", "bold"))
    return 1 if failed else 0


def state(verdict: CheckVerdict | None) -> list[str | tuple[str, str]]:
    if verdict is None:
        return [("could not be checked", "red")]
    if verdict.unwritten:
        many = len(verdict.unwritten)
        return [f"{many} blank{'s' * (many > 1)} to be written"]
    if verdict.is_passed:
        return [("✔ ", "green"), (report.stars(verdict.stars), "yellow")]
    out = [name for name, is_on in verdict.lamps.items() if is_on is False]
    return [("✘ ", "red"), listed(out)]
