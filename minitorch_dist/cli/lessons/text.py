"""`mtd text 13`: read a lesson."""

from __future__ import annotations

import argparse

from minitorch_dist.cli.lessons import bridge, report
from minitorch_dist.cli.lessons.commands import takes_lesson
from minitorch_dist.cli.page import Page, marked
from minitorch_dist.course import progress as progresses
from minitorch_dist.course.lesson import Lesson
from minitorch_dist.course.workspace import Workspace


def configure(parser: argparse.ArgumentParser) -> None:
    takes_lesson(parser, "text", run)


def run(page: Page, workspace: Workspace, lesson: Lesson, options: argparse.Namespace) -> int:
    with progresses.changing(workspace.folder) as progress:
        progress.present = lesson.number
    show(page, lesson)
    page.say()
    number = lesson.number
    if lesson.questions:
        page.say(marked("Guess first: ", (f"mtd predict {number}", "bold")))
    page.say(
        marked("Then write in ", (str(workspace.file(lesson)), "bold"), " and run ", (f"mtd check {number}", "bold"),
               f" (about {lesson.minutes} minutes)")
    )  # fmt: skip
    return 0


def show(page: Page, lesson: Lesson) -> None:
    report.heading(page, lesson)
    page.say()
    page.prose(lesson.plain_text)
    if lesson.bridge:
        page.say()
        bridge.show(page, lesson)
