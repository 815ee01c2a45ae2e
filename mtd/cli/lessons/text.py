"""`mtd text 13`: read a lesson."""

from __future__ import annotations

import argparse

from mtd.cli.lessons import bridge, report
from mtd.cli.lessons.commands import takes_lesson
from mtd.cli.page import Page, marked
from mtd.cli.parser import Parser
from mtd.course import progress as progresses
from mtd.course.lesson import Lesson
from mtd.course.workspace import Workspace, from_here


def configure(parser: Parser) -> None:
    takes_lesson(parser, "text", run)


def run(page: Page, workspace: Workspace, lesson: Lesson, options: argparse.Namespace) -> int:
    with progresses.changing(workspace.folder) as progress:
        progress.present = lesson.number
    show(page, lesson)
    page.say()
    number = lesson.number
    if lesson.questions:
        page.tell("Guess first: ", (f"mtd predict {number}", "bold"))
    to_write(page, workspace, lesson)
    if page.console.is_terminal and len(lesson.plain_text.split("\n")) > page.console.height:
        words = " shows the same from its top, with keys to scroll)"
        page.say(marked("(", ("mtd", "bold"), words), "dim")
    return 0


def to_write(page: Page, workspace: Workspace, lesson: Lesson) -> None:
    """The file and the command, each in a line of its own, so that neither is cut in two."""
    page.tell("Then write in ", (str(from_here(workspace.file(lesson))), "bold"))
    check = (f"mtd check {lesson.number}", "bold")
    page.tell("and run       ", check, f"   (about {lesson.minutes} minutes)")


def show(page: Page, lesson: Lesson) -> None:
    report.heading(page, lesson)
    page.say()
    page.prose(lesson.plain_text)
    if lesson.bridge:
        page.say()
        bridge.show(page, lesson)
