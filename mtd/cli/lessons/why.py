"""`mtd why bytes`: what a lamp asks for, and why nothing can be better."""

from __future__ import annotations

import argparse
import difflib

from mtd.cli.lessons import report
from mtd.cli.lessons.commands import here
from mtd.cli.page import Page
from mtd.cli.parser import Parser
from mtd.course import bounds, lamps
from mtd.course.lesson import Lesson, LessonError, all_lessons


def configure(parser: Parser) -> None:
    parser.takes("""
        lamp*            its name, like bytes or never stuck (all of them)
        --lesson LESSON  what a lesson of this number or name asks for (the one where you are)
    """)
    parser.set_defaults(run=run, epilog="mtd why bytes")


def run(options: argparse.Namespace) -> int:
    page = Page()
    wanted = " ".join(options.lamp).strip().lower().replace("_", " ").replace("-", " ")
    lesson = here(options.lesson)
    asked = {} if lesson is None else bounds.of_lesson(lesson)
    if not wanted:
        _all(page, lesson, asked)
        return 0
    elsewhere = [one for one in all_lessons() if wanted in bounds.of_lesson(one)]
    if wanted not in asked and wanted not in bounds.BOUNDS:
        if not elsewhere:
            raise LessonError(_unknown(wanted, [*bounds.BOUNDS, *asked]))
        lesson, asked = elsewhere[0], bounds.of_lesson(elsewhere[0])
    show(page, wanted, lesson, asked)
    return 0


def _unknown(wanted: str, names: list[str]) -> str:
    near = difflib.get_close_matches(wanted, names, 1)
    perhaps = f" (perhaps {near[0]}?)" if near else ""
    return f"no check has a lamp {wanted!r}{perhaps}; there are {', '.join(dict.fromkeys(names))}"


def _all(page: Page, lesson: Lesson | None, asked: dict[str, tuple[str, int | None]]) -> None:
    for name, bound in bounds.BOUNDS.items():
        page.tell((report.stars(bound.star), "yellow"), (f" {name}  ", "bold"), bound.asks)
    own = {name: said for name, said in asked.items() if name not in bounds.BOUNDS}
    if own and lesson is not None:
        page.say()
        page.say(f"And in lesson {lesson.number}:")
        for name, (said, star) in own.items():
            stars = report.stars(star or lamps.STARS.get(name, 1))
            page.tell((stars, "yellow"), (f" {name}  ", "bold"), said.partition("\n\n")[0])
    page.say()
    page.tell("More about one of them: ", ("mtd why bytes", "bold"))


def show(page: Page, name: str, lesson: Lesson | None, asked: dict[str, tuple[str, int | None]]) -> None:
    bound = bounds.BOUNDS.get(name)
    said, star = asked.get(name, ("", None))
    star = star or lamps.STARS.get(name, 1)
    page.tell((report.stars(star), "yellow"), (f" {name}", "bold"))
    if bound is not None:
        page.say()
        page.say(bound.asks)
        page.say()
        page.tell(("The bound:  ", "bold"), bound.formula)
        page.tell(("Because:  ", "bold"), bound.proof)
        for size, text in bound.rows():
            page.say(f"{size:>5} ranks: {text}", indent=2)
    if said and lesson is not None:
        page.say()
        page.tell((f"In lesson {lesson.number}: ", "bold"), " ".join(said.split()))
