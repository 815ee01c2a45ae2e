"""`mtd dev build`, `mtd dev check`: for authors of lessons. `mtd dev count`: the lines of code, and their budgets. `mtd dev census`: who
enters which function."""

from __future__ import annotations

import argparse
import os

from mtd.cli import budgets, code_lines, of_checkout
from mtd.cli.code_lines import HOUSE
from mtd.cli.page import Page
from mtd.cli.parser import Parser
from mtd.course import building, judging, notebooks, outputs
from mtd.course.lesson import ROOM, Lesson, all_lessons, find


def configure(parser: Parser) -> None:
    tasks = parser.add_subparsers(dest="task", metavar="TASK", required=True)
    texts = {
        "build": "write what is made from the lessons: notebooks, the table in lessons/README.md, docs",
        "check": "judge every lesson as CI does, and compare what is made from them",
    }
    for name, text in texts.items():
        task = tasks.add_parser(name, help=text, description=text)
        task.takes("--lesson N...  only this one (may be given again)")
        if name == "build":
            task.takes("--outputs  run all notebooks, also those whose code has not changed (some 20 minutes)")
    count = "lines of code in each package, without blank lines, comments and docstrings"
    counting = tasks.add_parser("count", help=count, description=count)
    counting.takes("--budget  compare each package with its budget; 1 if one is over")
    census = "which functions the lessons, programs, notebooks, wires and launchers enter, and which names nobody uses"
    asking = tasks.add_parser("census", help=census, add_help=False, prefix_chars="\0")  # which reads them
    asking.takes("options...  options of the census: mtd dev census --help lists them")
    parser.set_defaults(run=run, epilog="mtd dev check --lesson 13")


def run(options: argparse.Namespace) -> int:
    if options.task == "census":
        return of_checkout.run("tests.census.__main__", options.options)
    if options.task == "count":
        return compare_with_budgets() if options.budget else count()
    if ROOM == HOUSE / "lessons":  # and not an author's own, by MTD_LESSONS
        of_checkout.demand("in which pages and notebooks are made from the lessons")
    lessons = [find(one) for one in options.lesson] if options.lesson else None
    return build(lessons, options.outputs) if options.task == "build" else check(lessons)


def count() -> int:
    page = Page()
    found = code_lines.by_package()
    for name, lines in found.most_common():
        page.say(f"{lines:8,}  {name}")
    page.say(f"{found.total():8,}  lines of code")
    return 0


def compare_with_budgets() -> int:
    page = Page()
    found = [*budgets.rooms(), *budgets.loaded()]
    page.say("   lines  at most     goal  room, or what an import loads")
    for one in found:
        most, goal = one.budget.most, one.budget.goal
        over = f": {one.lines - most:,} lines too many" if one.is_over else ""
        page.say(f"{one.lines:8,} {most:8,} {goal:8,}  {one.budget.name}{over}")
    return int(any(one.is_over for one in found))


def build(lessons: list[Lesson] | None, runs: bool) -> int:
    page = Page()
    written = 0
    if not outputs.can_be_made():
        page.say("New code cells get no outputs: that takes nbclient, ipykernel and matplotlib.")
    for path, make in building.generated(lessons):
        if building.build(path, make, runs):
            written += 1
            page.say(f"wrote {_short(path)}")
    for path in building.stray() if lessons is None else ():
        path.unlink()
        written += 1
        page.say(f"removed {_short(path)}: there is no such lesson")
    page.say(f"{written} files changed")
    return 0


def check(lessons: list[Lesson] | None) -> int:
    page = Page()
    wrong = 0
    for lesson in all_lessons() if lessons is None else lessons:
        page.tell((f"{lesson.label} {lesson.title}", "bold"))
        for step in judging.steps(lesson):
            wrong += _told(page, step.name, step.run())
    for path, make in building.generated(lessons):
        is_new = path.exists() and path.read_text("utf-8") == building.text_for(path, make)
        wrong += _told(page, _short(path), "" if is_new else "differs: run mtd dev build")
    for path in building.stray() if lessons is None else ():
        wrong += _told(page, _short(path), "no lesson makes this: run mtd dev build")
    page.say("all is well" if not wrong else f"{wrong} things are wrong")
    return 1 if wrong else 0


def _told(page: Page, name: str, complaint: str) -> bool:
    if complaint:
        page.tell("  ", ("✘ ", "red"), f"{name}: {complaint}")
    else:
        page.tell("  ", ("✔ ", "green"), name)
    return bool(complaint)


def _short(path: os.PathLike[str]) -> str:
    return os.path.relpath(path, notebooks.FOLDER.parent)
