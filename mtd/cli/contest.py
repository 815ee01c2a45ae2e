"""`mtd contest mine.py`: a schedule of your own against all that are built in, and against the bound.

`mtd contest 19` is the open chapter after lesson 19 (see `open_chapter`).
"""

from __future__ import annotations

import argparse
import sys
import traceback
from collections.abc import Callable
from pathlib import Path
from string import ascii_uppercase

from rich.box import SIMPLE_HEAD
from rich.table import Table

from minitorch_dist.distributed.schedules.schedule import COLLECTIVES, Schedule
from mtd.cli import open_chapter
from mtd.cli.page import Page, begin, fitting
from mtd.cli.parser import Parser
from mtd.course import achievements, contest
from mtd.course.contest import Contest, NotAdmitted
from mtd.refusals import refusing


def configure(parser: Parser) -> None:
    parser.takes("""
        file?               with def all_reduce(rank, size): yield … (or another collective), or def order(rank, pipe); or the number of a lesson with an open chapter
        --begin             write such a file, to begin with
        --text              of an open chapter: read it
        --why               of an open chapter: its bound, proved
        --ranks RANKS: int  how many (8; of a pipeline 4)
        --net|--network NET...    ethernet, cluster, nodes, or as mtd simulate --net takes it (may be given again)
        --size BYTES...     of the vector (1KB and 16MB; may be given again)
    """)
    for option in ("--text", "--why", "--begin"):
        parser.needs(option, "file")
        parser.excludes(option, "--ranks", "--net", "--size")
    parser.excludes("--text", "--why", "--begin")
    parser.excludes("--why", "--begin")
    parser.set_defaults(run=run, epilog="mtd contest mine.py --ranks 12 --net nodes --size 64KB")


def run(options: argparse.Namespace) -> int:
    page = Page()
    if options.file is None:
        return about(page)
    file = Path(options.file)
    try:
        with refusing():
            chapter = open_chapter.chosen(options.file)
            if chapter is not None:
                file, options.show = chapter[1], show
                if moved := chapter[0].lesson.moved(options.file):
                    page.say(moved, "yellow")
                return open_chapter.run(page, *chapter, options)
            if options.text or options.why:
                raise NotAdmitted(f"{file} is no open chapter: --text and --why are for these")
            if options.begin:
                begin(file, contest.TEMPLATE.format(name=file), NotAdmitted)
                page.tell(f"wrote {file}, a ring; now: ", (f"mtd contest {file}", "bold"))
                return 0
            entered = contest.read(file)
            is_schedule = isinstance(entered, Schedule)
            ranks = options.ranks or (8 if is_schedule else 4)
            found = contest.held(entered, ranks, options.net, options.size or contest.SIZES)
    except KeyboardInterrupt as stopped:
        return interrupted(file, stopped)
    proved = "Proved: each contribution once, and nobody waits for ever."
    show(page, found, f"{proved} {found.about}.", legs)
    name = entered.collective if isinstance(entered, Schedule) else "pipeline"
    said = f"place {found.place} of {len(found.entries)} ({found.mine.score:.2f} × the bound)"
    achievements.enter("contest", name, -found.mine.score, said)
    return 0


def about(page: Page) -> int:
    """Say what the contest is, and how to begin."""
    page.say(
        "Who moves the numbers quickest? You write what each rank sends, step by step; it is proved (each "
        "contribution once, nobody waits for ever) and races all that is built in, on networks in virtual time."
    )
    page.say()
    page.say("Collectives: " + ", ".join(COLLECTIVES) + ". Or, for pipelines, an order of actions.")
    page.say("Networks, unless you choose:")
    for name, address in contest.networks(8).items():
        page.say(f"{name:<9} {address}", indent=2)
    page.say()
    page.tell("A file to begin with:  ", ("mtd contest mine.py --begin", "bold"))
    page.tell("Let it race:           ", ("mtd contest mine.py", "bold"))
    page.tell("One race only:         ", ("mtd contest mine.py --net nodes --size 1KB", "bold"))
    page.say()
    open_chapter.about(page)
    return 0


def interrupted(file: Path, stopped: KeyboardInterrupt) -> int:
    """Ctrl-C: where in the file it was."""
    frames = traceback.extract_tb(stopped.__traceback__)
    lines = [f"{file}:{one.lineno}: {one.line}" for one in frames if Path(one.filename).resolve() == file.resolve()]
    place = f" at {lines[-1]}" if lines else ""
    print(f"\nmtd contest: interrupted{place}", file=sys.stderr)
    return 130


def show(page: Page, found: Contest, head: str, legs: Callable[[Page, Contest], None]) -> None:
    page.say(head)
    table = Table(box=SIMPLE_HEAD, padding=(0, 1, 0, 0), pad_edge=False)
    table.add_column("", justify="right")
    table.add_column("", overflow="fold")
    letters = ascii_uppercase[: len(found.races)]
    for letter in letters:
        table.add_column(letter, justify="right", no_wrap=True)
    table.add_column("mean", justify="right", no_wrap=True)
    table.add_column(found.column, justify="right")
    for place, entry in enumerate(found.entries, 1):
        numbers = *(f"{leg.ratio:.2f}" for leg in entry.legs), f"{entry.score:.2f}", f"{entry.memory:g}"
        table.add_row(f"{place}", entry.name, *numbers, style="bold" if entry.is_mine else "")
    page.say(fitting(table, page.console))
    legs(page, found)
    page.say(f"{found.column}: {found.unit}", indent=2)
    page.say()
    page.tell((f"Place {found.place} of {len(found.entries)}. ", "bold"), found.next_place())


def legs(page: Page, found: Contest) -> None:
    """The learner's time in each race."""
    for letter, race, leg in zip(ascii_uppercase, found.races, found.mine.legs, strict=False):
        more = f", {leg.rounds} rounds, a rank sends {leg.sent:,} B" if leg.rounds else ""
        page.say(f"{letter}  {race}: yours takes {leg.said}{more}", indent=2)
