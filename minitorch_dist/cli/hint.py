"""`mtd hint 13`: one more hint, up to three."""

from __future__ import annotations

import argparse

from rich.markdown import Markdown

from minitorch_dist.cli.page import LessonError, Page, marked, opened, refuse
from minitorch_dist.course import progress as progresses
from minitorch_dist.course.lesson import HINTS, Lesson, find
from minitorch_dist.course.workspace import Workspace


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("lesson", nargs="?", help="13, ring or 13_ring (the one where you are)")
    parser.set_defaults(run=run, epilog="mtd hint 13")


def run(options: argparse.Namespace) -> int:
    page = Page()
    try:
        workspace, progress = opened(page)
        lesson = (
            workspace.present(progress) if options.lesson is None
            else find(options.lesson, workspace.room)
        )  # fmt: skip
        show(page, workspace, lesson)
    except LessonError as error:
        return refuse("hint", error)
    return 0


def show(page: Page, workspace: Workspace, lesson: Lesson) -> None:
    """Those that were seen, and one more."""
    hints = lesson.hints
    with progresses.changing(workspace.folder) as progress:
        seen = min(progress.hints.get(lesson.number, 0) + 1, len(hints))
        was = progress.hints.get(lesson.number, 0)
        progress.hints[lesson.number], progress.present = seen, lesson.number
    for number in range(seen):
        is_new = number >= was
        page.say(
            marked((f"{number + 1} of {len(hints)}  {HINTS[number]}", "bold" if is_new else "dim"))
        )
        page.say(Markdown(hints[number]), indent=2)
        page.say()
    if was == len(hints):
        page.say(
            marked("That was all. Ours is shown by ", (f"mtd solution {lesson.number} --give-up", "bold"),
                   ", or goes in its place with ", (f"mtd use reference {lesson.number}", "bold"), ".")
        )  # fmt: skip
