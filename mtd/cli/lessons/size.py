"""`mtd size 13 function`: how much of a lesson is blank. Finished functions are carried over, and a copy is kept."""

from __future__ import annotations

import argparse

from rich.table import Table
from rich.text import Text

from mtd.cli.lessons.commands import about
from mtd.cli.page import Page, listed
from mtd.cli.parser import Parser
from mtd.course.lesson import Lesson, LessonError
from mtd.course.sizes import SIZES, WORDS, lines_to_write
from mtd.course.source import missing
from mtd.course.workspace import Workspace


def configure(parser: Parser) -> None:
    parser.takes("""
        lesson?  13, ring or 13_ring (the one where you are)
        size?    gap, function or file; without it all three are shown
    """)
    parser.set_defaults(run=run, epilog="mtd size 13 function")


def run(options: argparse.Namespace) -> int:
    if options.size is None and options.lesson in SIZES:  # of the lesson where one is
        options.lesson, options.size = None, options.lesson
    return about(_sized)(options)


def _sized(page: Page, workspace: Workspace, lesson: Lesson, options: argparse.Namespace) -> int:
    if options.size is None:
        show(page, workspace, lesson)
    elif options.size in SIZES:
        change(page, workspace, lesson, options.size)
    else:
        raise LessonError(f"there is no size {options.size!r}; there are {listed(SIZES)}")
    return 0


def show(page: Page, workspace: Workspace, lesson: Lesson) -> None:
    """The three sizes of a lesson, and which one it has."""
    here = workspace.progress().size_of(lesson.number)
    table = Table.grid(padding=(0, 2))
    for size in SIZES:
        many = lines_to_write(lesson.sized(size))
        lines = f"our solution has {many} line{'s' * (many != 1)} there"
        table.add_row("▶" if size == here else "", Text(size, "bold"), WORDS[size], lines)
    page.say(f"{lesson.label} {lesson.title}", "bold")
    page.say(table)
    other = next(size for size in SIZES if size != here)
    page.tell("Another one: ", (f"mtd size {lesson.number} {other}", "bold"))


def change(page: Page, workspace: Workspace, lesson: Lesson, size: str) -> None:
    """Do it, and say what became of the file."""
    was_begun = workspace.is_begun(lesson)
    done = workspace.resize(lesson, size)
    name = workspace.file(lesson).relative_to(workspace.folder)
    if done.before == size:
        page.say(f"Lesson {lesson.number} has this size: {size}, {WORDS[size]}.")
        return
    page.say(f"Lesson {lesson.number} has the size {size} now: {WORDS[size]}.")
    if done.copy is not None:
        page.say(f"The file as it was is in {done.copy.relative_to(workspace.folder)}.")
    if done.found.kept:
        page.say(f"What you wrote stays: {listed(done.found.kept)}.")
    if done.found.dropped:
        page.say(f"Only the copy has {listed(done.found.dropped)}, which could not be carried over.")
    if was_begun and not missing(workspace.text_of(lesson), lesson.number):
        page.say(f"{name} has no blank left.")
        page.tell("To write it anew in this size: ", (f"mtd reset {lesson.number}", "bold"))
    else:
        page.tell("The blanks: ", (f"mtd check {lesson.number}", "bold"))
