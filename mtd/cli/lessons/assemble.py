"""`mtd assemble`: what you wrote in the lessons, as one package that trains over real wires."""

from __future__ import annotations

import argparse
from pathlib import Path

from mtd.cli.lessons.commands import opened
from mtd.cli.page import Page, listed
from mtd.cli.parser import Parser
from mtd.course.assembling import Assembled, AssembleError, assemble
from mtd.course.sizes import SIZES
from mtd.course.workspace import Workspace, around, is_one, last_used


def configure(parser: Parser) -> None:
    parser.takes("--out|--into FOLDER: path = mystack  a new folder (%(default)s)")
    words = "your lessons (the course where you are)"
    parser.add_argument("--from", dest="source", type=Path, metavar="COURSE", help=words)
    parser.takes("--reference  all modules are ours")
    parser.excludes("--reference", "--from")
    parser.set_defaults(run=run, epilog="mtd assemble --out mystack")


def run(options: argparse.Namespace) -> int:
    page = Page()
    _report(page, assemble(options.out, _workspace(page, options)))
    return 0


def _workspace(page: Page, options: argparse.Namespace) -> Workspace | None:
    if options.reference:
        return None
    if options.source is None:
        if around(Path.cwd()) is None and last_used() is None:
            page.say("you have no course yet (mtd init course begins one); so all modules are ours")
            return None
        return opened(page)[0]
    folder = options.source.expanduser().resolve()
    if not (folder.is_dir() and is_one(folder)):
        raise AssembleError(
            f"there is no course in {folder}; mtd init {options.source} makes one, --reference takes ours"
        )
    return Workspace(folder)


def _report(page: Page, made: Assembled) -> None:
    for whose in ("yours", "ours"):
        parts = [part for part in made.parts if part.whose == whose]
        if parts:
            numbers = listed([f"{part.lesson.label}" for part in parts])
            page.say(
                f"{whose}: {'lesson' if len(parts) == 1 else 'lessons'} {numbers}, {sum(part.lines for part in parts)} lines of code"
            )
    written = sum(part.written for part in made.parts)
    if written:
        by_size = {size: sum(part.written for part in made.parts if part.size == size) for size in SIZES}
        sizes = [size for size, lines in by_size.items() if lines]
        said = listed([f"{by_size[size]} in the size {size}" for size in sizes])
        how = f" ({sizes[0]} size)" if len(sizes) == 1 else f": {said}"
        page.say(f"{written} of these lines you wrote yourself{how}")
    open_still = [part.lesson.label for part in made.parts if part.whose == "yours" and not part.has_passed]
    if open_still:
        page.say(
            f"not passed yet, and used all the same: {'lesson' if len(open_still) == 1 else 'lessons'} {listed(open_still)}",
            "yellow",
        )
    page.say(f"given: {made.face_lines} lines of code in {made.folder.name}/face")
    page.say(f"Go to {made.folder.parent}, and: python -m {made.folder.name} train --ranks 4")
