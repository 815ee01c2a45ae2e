"""`mtd list`: all lessons, and how far you are."""

from __future__ import annotations

import argparse

from rich.box import SIMPLE_HEAD
from rich.table import Table
from rich.text import Text

from minitorch_dist.cli import report
from minitorch_dist.cli.course import opened
from minitorch_dist.cli.page import Page, marked, refuse
from minitorch_dist.course.lesson import Lesson, LessonError, all_lessons
from minitorch_dist.course.progress import Progress
from minitorch_dist.course.workspace import Workspace, WorkspaceError


def configure(parser: argparse.ArgumentParser) -> None:
    parser.set_defaults(run=run, epilog="mtd list")


def run(options: argparse.Namespace) -> int:
    page = Page()
    try:
        try:
            workspace, progress = opened(page)
        except WorkspaceError:
            show(page, None, Progress(), all_lessons())
            page.say(marked("A folder of your own with all of them: ", ("mtd init course", "bold")))
            return 0
        show(page, workspace, progress, workspace.lessons())
    except LessonError as error:
        return refuse("list", error)
    return 0


def show(
    page: Page, workspace: Workspace | None, progress: Progress, lessons: list[Lesson]
) -> None:
    table = Table(box=SIMPLE_HEAD, padding=(0, 1, 0, 0), pad_edge=False, expand=False)
    table.add_column("", width=1)
    table.add_column("", justify="right", width=2)
    table.add_column("lesson", max_width=26)
    table.add_column("question, or how it stands", ratio=1)
    table.add_column("stars", width=5)
    table.add_column("min", justify="right", width=3)
    here = workspace.present(progress).number if workspace and lessons else None
    part = ""
    for lesson in lessons:
        if lesson.part != part:
            part = lesson.part
            table.add_row("", "", Text(part, "bold cyan"), "", "", "")
        passed = progress.passed.get(lesson.number)
        table.add_row(
            "▶" if lesson.number == here else "", str(lesson.number), lesson.title,
            _state(workspace, progress, lesson),
            Text(report.stars(passed.stars), "yellow") if passed else "", str(lesson.minutes),
        )  # fmt: skip
    page.say(table)
    minutes = sum(lesson.minutes for lesson in lessons)
    done = len(progress.passed.keys() & {lesson.number for lesson in lessons})
    page.say(
        f"{done} of {len(lessons)} passed; all of them take about {round(minutes / 60)} hours."
    )


def _state(workspace: Workspace | None, progress: Progress, lesson: Lesson) -> Text:
    if workspace is None:
        return Text(lesson.question)
    if lesson.number in progress.reference:
        return Text("ours is used (mtd use mine takes yours)", "cyan")
    if lesson.number in progress.passed:
        if workspace.is_current(lesson, progress):
            return Text("passed", "green")
        return Text(f"passed, and changed since: mtd check {lesson.number}", "yellow")
    if workspace.is_begun(lesson):
        return Text("begun", "yellow")
    return Text(lesson.question)
