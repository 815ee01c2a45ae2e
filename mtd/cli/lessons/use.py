"""`mtd use reference 13`: later lessons take our lesson 13; `mtd use mine 13`: yours again. Your file stays as it is."""

from __future__ import annotations

import argparse

from mtd.cli.lessons.commands import opened, say_moved
from mtd.cli.page import Page, listed
from mtd.cli.parser import Parser
from mtd.course import progress as progresses
from mtd.course.lesson import find


def configure(parser: Parser) -> None:
    parser.takes("""
        whose {reference,mine}  ours, or yours once it passes
        lesson+                 13, ring or 13_ring; or several
    """)
    parser.set_defaults(run=run, epilog="mtd use reference 13")


def run(options: argparse.Namespace) -> int:
    page = Page()
    workspace, _ = opened(page)
    lessons = [find(wanted, workspace.room) for wanted in options.lesson]
    for wanted, lesson in zip(options.lesson, lessons, strict=True):
        say_moved(page, lesson, wanted, workspace)
    numbers = {lesson.number for lesson in lessons}
    with progresses.changing(workspace.folder) as progress:
        if options.whose == "reference":
            progress.reference |= numbers
        else:
            progress.reference -= numbers
    if options.whose == "reference":
        page.say(f"Later lessons take our {listed(sorted(numbers))}. mtd use mine takes yours again.")
        return 0
    for lesson in lessons:
        if lesson.number not in progress.passed:
            page.say(f"Yours has not passed yet, so ours is taken until it does: mtd check {lesson.number}")
        elif not workspace.is_current(lesson, progress):
            page.say(f"Yours has changed since it passed: mtd check {lesson.number}")
        else:
            page.say(f"Later lessons take your {lesson.file}.")
    return 0
