"""`mtd solution 13`: ours, once yours passes (or with --give-up)."""

from __future__ import annotations

import argparse

from rich.syntax import Syntax

from mtd.cli.lessons.commands import takes_lesson
from mtd.cli.page import Page
from mtd.cli.parser import Parser
from mtd.course import progress as progresses
from mtd.course.lesson import Lesson, LessonError
from mtd.course.workspace import Workspace


def configure(parser: Parser) -> None:
    parser.takes("--give-up  also before yours passes")
    takes_lesson(parser, "solution", run)


def run(page: Page, workspace: Workspace, lesson: Lesson, options: argparse.Namespace) -> int:
    if options.give_up:
        with progresses.changing(workspace.folder) as progress:
            if lesson.number not in progress.passed:
                progress.given_up.add(lesson.number)
    refuse_before_passing(workspace, lesson)
    show(page, lesson)
    return 0


def refuse_before_passing(workspace: Workspace, lesson: Lesson) -> None:
    progress = workspace.progress()
    if lesson.number not in progress.passed.keys() | progress.given_up | progress.reference:
        raise LessonError(
            f"yours has not passed yet. mtd hint {lesson.number} says more; mtd solution {lesson.number} --give-up shows it all the same"
        )


def show(page: Page, lesson: Lesson) -> None:
    """In colours for a person; the bare file for a program."""
    text = lesson.source.solution(marks=page.console.is_terminal)
    if page.console.is_terminal:
        page.say(Syntax(text, "python", theme="ansi_dark", background_color="default", word_wrap=True))
    else:
        page.console.file.write(text)
