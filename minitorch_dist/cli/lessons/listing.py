"""`mtd list`: all lessons, and how far you are."""

from __future__ import annotations

import argparse
from itertools import groupby

from rich.table import Table
from rich.text import Text

from minitorch_dist.cli.lessons import report
from minitorch_dist.cli.lessons.commands import opened
from minitorch_dist.cli.page import Page, marked, refuse
from minitorch_dist.course import achievements
from minitorch_dist.course.chapters.chapter import Chapter, of_lesson
from minitorch_dist.course.lesson import Lesson, LessonError, all_lessons
from minitorch_dist.course.progress import Progress
from minitorch_dist.course.sizes import GAP, WORDS
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
    here = workspace.present(progress).number if workspace and lessons else None
    title = min(
        max((len(lesson.title) for lesson in lessons), default=6), 28 if page.width >= 70 else 20
    )
    head = _row(page, title)
    head.add_row("", "", "lesson", "question, or state", "stars", "min", style="dim")
    page.say(head)
    for part, of_part in groupby(lessons, key=lambda lesson: lesson.part):
        page.say(part, "bold cyan", indent=6)
        table = _row(page, title)
        for lesson in of_part:
            passed = progress.passed.get(lesson.number)
            table.add_row(
                "▶" if lesson.number == here else "", str(lesson.number), lesson.title,
                _state(workspace, progress, lesson).append_text(_size(progress, lesson)),
                Text(report.stars(passed.stars), "yellow") if passed else "", str(lesson.minutes),
            )  # fmt: skip
            chapter = of_lesson(lesson)
            if chapter is not None:
                table.add_row(
                    "",
                    "",
                    f"  {chapter.title}",
                    _chapter(progress, chapter),
                    "",
                    str(chapter.minutes),
                )
        page.say(table)
    if workspace is not None:
        page.say("Beside the lessons", "bold cyan", indent=5)
        beside = Table.grid(padding=(0, 1, 0, 0))
        for width in (4, title, page.width - title - 8):
            beside.add_column(width=width)
        for room, said, is_begun in achievements.lines(progress):
            beside.add_row("", room, Text(said, "yellow" if is_begun else ""))
        page.say(beside)
    minutes = sum(lesson.minutes for lesson in lessons)
    done = len(progress.passed.keys() & {lesson.number for lesson in lessons})
    page.say()
    hours = f"{round(minutes / 60)} hours" if minutes >= 90 else f"{minutes} minutes"
    page.say(f"{done} of {len(lessons)} passed; all of them take about {hours}.")
    if workspace is not None and progress.size != GAP:
        others = " where no other size is said" if progress.sizes else ""
        page.say(f"Size {progress.size}: {WORDS[progress.size]}{others}.")


def _chapter(progress: Progress, chapter: Chapter) -> Text:
    """The best result in an open chapter, or how to begin it."""
    best = progress.rooms.get("contest", {}).get(chapter.module)
    text = Text(f"open chapter: mtd contest {chapter.lesson.number}", "dim")
    return text if best is None else Text(best.said, "yellow")


def _row(page: Page, title: int) -> Table:
    """Columns that stand beneath each other from part to part."""
    table = Table.grid(padding=(0, 1, 0, 0))
    for width in (1, 3, title, page.width - title - 18, 5, 3):
        table.add_column(width=width, justify="right" if width == 3 else "left")
    return table


def _size(progress: Progress, lesson: Lesson) -> Text:
    """Of the blanks, where it is another than that of all lessons."""
    size = progress.size_of(lesson.number)
    return Text("" if size == progress.size else f" ({size})", "dim")


def _state(workspace: Workspace | None, progress: Progress, lesson: Lesson) -> Text:
    if workspace is None:
        return Text(lesson.question)
    if lesson.number in progress.reference:
        return Text("ours is used (mtd use mine takes yours)", "cyan")
    if lesson.number in progress.passed:
        if workspace.is_current(lesson, progress):
            return Text("passed", "green")
        if not workspace.file(lesson).is_file():
            return Text(f"passed, and is no more: mtd reset {lesson.number}", "yellow")
        if lesson.earlier(workspace.text_of(lesson)):
            return Text(f"passed, before the lesson changed: mtd check {lesson.number}", "yellow")
        return Text(f"passed, and changed since: mtd check {lesson.number}", "yellow")
    if workspace.is_begun(lesson, progress):
        return Text("begun", "yellow")
    return Text(lesson.question)
