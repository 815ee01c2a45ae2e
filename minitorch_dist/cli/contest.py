"""`mtd contest mine.py`: a schedule of your own against all that are built in, and against the bound."""

from __future__ import annotations

import argparse
from pathlib import Path
from string import ascii_uppercase

from rich.box import SIMPLE_HEAD
from rich.table import Table

from minitorch_dist.cli.page import Page, marked, refuse
from minitorch_dist.course import contest
from minitorch_dist.course.contest import Contest
from minitorch_dist.distributed.schedules.schedule import Schedule


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "file", type=Path,
        help="with def all_reduce(rank, size): yield … (or another collective), or def order(rank, pipe)",
    )  # fmt: skip
    parser.add_argument("--ranks", type=int, help="how many (8; of a pipeline 4)")
    parser.add_argument(
        "--network", action="append", default=[], metavar="NET",
        help="ethernet, cluster, nodes, or as mtd simulate --net takes it (may be given again)",
    )  # fmt: skip
    parser.add_argument(
        "--size",
        action="append",
        metavar="BYTES",
        help="of the vector (1KB and 16MB; may be given again)",
    )
    parser.set_defaults(
        run=run, epilog="mtd contest mine.py --ranks 12 --network nodes --size 64KB"
    )


def run(options: argparse.Namespace) -> int:
    try:
        entered = contest.read(options.file)
        is_schedule = isinstance(entered, Schedule)
        ranks = options.ranks or (8 if is_schedule else 4)
        found = contest.held(entered, ranks, options.network, options.size or contest.SIZES)
    except ValueError as error:
        return refuse("contest", error)
    show(Page(), found)
    return 0


def show(page: Page, found: Contest) -> None:
    page.say(f"Proved: each contribution once, and nobody waits for ever. {found.about}.")
    table = Table(box=SIMPLE_HEAD, padding=(0, 1, 0, 0), pad_edge=False)
    table.add_column("", justify="right")
    table.add_column("", overflow="fold")
    letters = ascii_uppercase[: len(found.races)]
    for letter in letters:
        table.add_column(letter, justify="right", no_wrap=True)
    table.add_column("mean", justify="right", no_wrap=True)
    table.add_column("memory", justify="right")
    for place, entry in enumerate(found.entries, 1):
        table.add_row(
            f"{place}", entry.name, *(f"{leg.ratio:.2f}×" for leg in entry.legs), f"{entry.score:.2f}×",
            f"{entry.memory:g}", style="bold" if entry.is_mine else "",
        )  # fmt: skip
    page.say(table)
    for letter, race, leg in zip(letters, found.races, found.mine.legs, strict=True):
        more = f", {leg.rounds} rounds, a rank sends {leg.sent:,} bytes" if leg.rounds else ""
        page.say(f"{letter}  {race}: yours takes {leg.said}{more}", indent=2)
    page.say(f"memory: {found.unit}", indent=2)
    page.say()
    page.say(marked((f"Place {found.place} of {len(found.entries)}. ", "bold"), found.next_place()))
