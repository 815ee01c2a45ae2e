"""What the commands of the course have in common: the learner's folder, and a lesson."""

from __future__ import annotations

import argparse
from collections.abc import Callable

from minitorch_dist.cli.page import Page, refuse
from minitorch_dist.course import lesson as lessons
from minitorch_dist.course.lesson import Lesson, LessonError
from minitorch_dist.course.progress import Progress
from minitorch_dist.course.workspace import Workspace, find

Act = Callable[[Page, Workspace, Lesson, argparse.Namespace], int]


def opened(page: Page) -> tuple[Workspace, Progress]:
    """The learner's folder; says it if something was wrong with it."""
    workspace = find()
    progress = workspace.progress()
    if progress.notice:
        page.say(progress.notice, "yellow")
    return workspace, progress


def takes_lesson(parser: argparse.ArgumentParser, name: str, act: Act, example: str = "") -> None:
    """A command about one lesson."""
    parser.add_argument("lesson", nargs="?", help="13, ring or 13_ring (the one where you are)")
    parser.set_defaults(run=about(name, act), epilog=example or f"mtd {name} 13")


def about(name: str, act: Act) -> Callable[[argparse.Namespace], int]:
    """`act` with the lesson that is named; what cannot be done is said."""

    def run(options: argparse.Namespace) -> int:
        page = Page()
        try:
            workspace, progress = opened(page)
            return act(page, workspace, chosen(workspace, progress, options.lesson), options)
        except LessonError as error:
            return refuse(name, error)

    return run


def chosen(workspace: Workspace, progress: Progress, wanted: str | None) -> Lesson:
    """The lesson of this number or name, else the one where the learner is."""
    return workspace.present(progress) if wanted is None else lessons.find(wanted, workspace.room)
