"""`mtd hint 13`: one more hint, up to three."""

from __future__ import annotations

import argparse

from mtd.cli.lessons.commands import takes_lesson
from mtd.cli.page import Page
from mtd.cli.parser import Parser
from mtd.course import progress as progresses
from mtd.course.lesson import HINTS, Lesson
from mtd.course.workspace import Workspace


def configure(parser: Parser) -> None:
    takes_lesson(parser, "hint", run)


def run(page: Page, workspace: Workspace, lesson: Lesson, options: argparse.Namespace) -> int:
    was = seen(workspace, lesson)
    more(workspace, lesson)
    show(page, lesson, was + 1, workspace.progress().size_of(lesson.number))
    if was + 1 < len(HINTS):
        page.tell("One more: ", (f"mtd hint {lesson.number}", "bold"))
    return 0


def seen(workspace: Workspace, lesson: Lesson) -> int:
    return workspace.progress().hints.get(lesson.number, 0)


def more(workspace: Workspace, lesson: Lesson) -> None:
    """Enter that another one was asked for."""
    with progresses.changing(workspace.folder) as progress:
        now = progress.hints.get(lesson.number, 0) + 1
        progress.hints[lesson.number] = min(now, len(HINTS))
        progress.present = lesson.number


def show(page: Page, lesson: Lesson, count: int, size: str) -> None:
    """The first `count`, the last of which is new; for blanks of this size."""
    said = lesson.hints_for(size)
    for number in range(min(count, len(HINTS))):
        style = "bold" if number == count - 1 else "dim"
        page.tell((f"{number + 1} of {len(HINTS)}  {HINTS[number]}", style))
        page.prose(said[number], indent=2)
        page.say()
    if count > len(HINTS):
        page.tell(
            "That was all. Ours is shown by ",
            (f"mtd solution {lesson.number} --give-up", "bold"),
            ", or goes in its place with ",
            (f"mtd use reference {lesson.number}", "bold"),
            ".",
        )
