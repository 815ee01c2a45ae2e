"""`mtd init course`: a folder of your own with a skeleton for each lesson."""

from __future__ import annotations

import argparse
from pathlib import Path

from rich.table import Table
from rich.text import Text

from mtd.cli.page import Page, listed
from mtd.cli.parser import Parser
from mtd.course.sizes import SIZES, WORDS
from mtd.course.workspace import Made, Workspace, around, from_here, make


def configure(parser: Parser) -> None:
    parser.takes(f"""
        folder?                       a new or empty one, or that of a course, which gets what is new (the present course, else ./course)
        --size {{{",".join(SIZES)}}}  how much is blank in lessons that are not begun: a few lines (gap), whole functions, or the file; mtd size changes one lesson
    """)
    parser.set_defaults(run=run, epilog="mtd init course --size function")


def run(options: argparse.Namespace) -> int:
    folder = Path(options.folder) if options.folder else _default()
    workspace, made = make(folder, size=options.size)
    page = Page()
    tell(page, workspace, made)
    if options.size:
        page.say()
        page.say(f"Size {options.size}: {WORDS[options.size]} in lessons that are not begun.")
    return 0


def _default() -> Path:
    """The course in which we are, else a new one."""
    here = around(Path.cwd())
    return here.folder if here else Path.cwd() / "course"


def tell(page: Page, workspace: Workspace, made: Made) -> None:
    lessons = workspace.lessons()
    folders = [one.folder.name for one in lessons if f"{one.folder.name}/{one.file}" in made.added]
    others = [name for name in made.added if name.partition("/")[0] not in folders]
    added = sorted([*folders, *others])
    if len(folders) == len(lessons):
        many = "1 lesson is" if len(added) == 1 else f"{len(added)} lessons are"
        page.tell((many, "bold"), f" in {workspace.folder}")
    elif added:
        page.say(f"New in {workspace.folder}: {listed(added)}")
    if made.renewed:
        many = listed(made.renewed) if len(made.renewed) < 4 else f"{len(made.renewed)} files"
        page.say(f"Brought up to date, as you had not touched them: {many}")
    if made.changed:
        page.say(f"Ours have changed, yours are as they were: {listed(made.changed)}")
        page.say("mtd reset N brings the new one, and keeps a copy of yours.", indent=2)
    for lesson in lessons:
        for name in lesson.formerly:
            if (workspace.folder / name).is_dir():
                page.say()
                page.tell((f"{name}: ", "bold"), f"{lesson.moved(name)} Your answer stays there.")
        said = lesson.outdated(workspace.text_of(lesson))
        if said:
            page.say()
            page.tell((f"{lesson.folder.name}/{lesson.file}: ", "bold"), said)
    if not (added or made.renewed or made.changed):
        page.say(f"{workspace.folder} has all there is; nothing was changed.")
    if not lessons:
        return
    first = workspace.present(workspace.progress())
    here = workspace.folder
    table = Table.grid(padding=(0, 2))
    with_cd = "" if here == Path.cwd() else f"cd {from_here(here)}"
    page.say()
    for command, what in (
        (with_cd, ""),
        ("mtd", "opens the course where you left it"),
        (f"mtd text {first.number}", f"reads lesson {first.number}: {first.title}"),
        (f"mtd check {first.number}", f"tests what you wrote in {first.folder.name}/{first.file}"),
    ):
        if command:
            table.add_row(Text(command, "bold"), what)
    page.say(table, indent=2)
