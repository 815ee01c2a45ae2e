"""The picture that a lesson draws of a learner's code: `mtd show 13`."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

from minitorch_dist.pictures import svg
from mtd.cli import player
from mtd.cli.lessons import report
from mtd.cli.lessons.commands import say_moved
from mtd.cli.page import Page
from mtd.course.examination import Examination
from mtd.course.lesson import Lesson, LessonError, find as find_lesson
from mtd.course.workspace import Workspace, find
from mtd.grids import grid_page, grid_svg
from mtd.pages import page as pages, whole_files

Draw = Callable[[Any], str]  # of a Scene or a Grid


def is_meant(wanted: str) -> bool:
    """Whether this names a lesson rather than a journal."""
    if Path(wanted).exists() or wanted.endswith(".mtd"):
        return False
    try:
        find_lesson(wanted)
    except LessonError:
        return wanted.isdigit()
    return True


def run(wanted: str, options: argparse.Namespace) -> int:
    screen, workspace = Page(), find()
    lesson = find_lesson(wanted, workspace.room)
    say_moved(screen, lesson, wanted, workspace)
    exam = drawn(workspace, lesson)
    if options.moving and exam.grid is None:
        raise LessonError(f"lesson {lesson.number} has no grid that could fill: mtd show {lesson.number}")
    if options.step and exam.scene is None:
        raise LessonError(f"the picture of lesson {lesson.number} has no steps: mtd show {lesson.number}")
    draws: dict[str, Draw] = {"html": pages.draw, "svg": svg.draw}
    if exam.grid is not None:
        draws = {"html": grid_page.draw, "svg": grid_svg.moving if options.moving else grid_svg.draw}
    if options.moving and options.svg is None:
        options.svg = ""
    for name, draw in draws.items():
        given = getattr(options, name)
        if given is not None:
            _write(screen, workspace, lesson, exam, given, name, draw)
    if options.step and exam.scene is not None:
        player.play(exam.scene, console=screen.console)
    elif options.html is None and options.svg is None:
        report.heading(screen, lesson)
        screen.say()
        report.picture(screen, exam)
        if exam.grid is not None and exam.scene is not None:
            screen.tell("When the messages travel: ", (f"mtd show {lesson.number} --step", "bold"))
    return 0


def drawn(workspace: Workspace, lesson: Lesson) -> Examination:
    """The picture, once it is drawn; LessonError where there is nothing to draw yet."""
    exam = Examination.finished(workspace, lesson, "picture")
    if exam.scene is not None:
        exam.scene = replace(exam.scene, title=str(lesson))
    if exam.undrawn:
        raise LessonError(f"it cannot be drawn: {exam.undrawn}\nmtd check {lesson.number} says more")
    return exam


def _write(
    screen: Page, workspace: Workspace, lesson: Lesson, exam: Examination, given: str, ending: str, draw: Draw
) -> None:
    drawn = exam.grid if exam.grid is not None else exam.scene
    if drawn is None:
        raise LessonError(f"the picture of lesson {lesson.number} is text: mtd show {lesson.number}")
    path = Path(given) if given else workspace.place(lesson) / f"{lesson.module}.{ending}"
    text = draw(drawn)
    try:
        if not given:  # nobody has named the file, so it is one of ours or stays
            whole_files.check(path, text.encode()[:8], f".{ending} of ours")
        whole_files.write(path, text)
    except OSError as error:
        raise LessonError(f"{error.filename} cannot be written: {error.strerror}") from error
    screen.say(f"wrote {path}")
