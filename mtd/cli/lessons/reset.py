"""`mtd reset 13`: begin a lesson anew. A copy of what you wrote is kept beside it, in kept/."""

from __future__ import annotations

import argparse

from mtd.cli.lessons.commands import takes_lesson
from mtd.cli.page import Page, listed
from mtd.cli.parser import Parser
from mtd.course.lesson import Lesson
from mtd.course.workspace import Workspace


def configure(parser: Parser) -> None:
    takes_lesson(parser, "reset", run)


def run(page: Page, workspace: Workspace, lesson: Lesson, options: argparse.Namespace) -> int:
    page.say(done(workspace, lesson))
    return 0


def done(workspace: Workspace, lesson: Lesson) -> str:
    """Do it, and say it."""
    kept = workspace.reset(lesson)
    if not kept:
        return f"{lesson.file} is as it was at first."
    return f"begun anew; what you wrote is in {listed([path.relative_to(workspace.folder) for path in kept])}"
