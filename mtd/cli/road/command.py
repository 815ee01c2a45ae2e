"""`mtd road`: the files that one call goes through, in order, with a line on what each is."""

from __future__ import annotations

import argparse

from mtd.cli import page
from mtd.cli.parser import Parser, near
from mtd.cli.road.counting import Road, about
from mtd.cli.road.trips import STORIES, TRIPS, Trip
from mtd.refusals import CannotDo


def configure(parser: Parser) -> None:
    parser.takes(f"""
        names TRIP*  some of {", ".join(TRIPS)} (all)
        --functions  list the functions of each file, with their lines
    """)
    parser.set_defaults(run=run, epilog="mtd road all_reduce")


def run(options: argparse.Namespace) -> int:
    unknown = [name for name in options.names if name not in TRIPS]
    if unknown:
        said = near(unknown[0], TRIPS)
        raise CannotDo(f"there is no trip {unknown[0]!r}{said}; there are {', '.join(TRIPS)}")
    screen = page.Page()
    for name in options.names or TRIPS:
        trip = TRIPS[name]
        for told in STORIES[name].split("\n\n"):
            screen.say(" ".join(told.split()).replace("*", "").replace("`", ""))
        for title, road in trip.roads().items():
            _show(screen, trip, title, road, options.functions)
    return 0


def _show(screen: page.Page, trip: Trip, title: str, road: Road, with_functions: bool) -> None:
    screen.say(page.marked((f"{title}: {trip.title.replace('`', '')}", "bold")))
    for path in road.files:
        screen.say(f"  {path}")
        screen.say(page.marked((f"      {about(path)}", "dim")))
        for function in road.functions_of(path) if with_functions else ():
            screen.say(f"      {function.first:>4}-{function.last:<4} {function.name}")
    limit = trip.limits[title]
    screen.say(
        f"  {len(road.files)} files, {road.lines:,} lines (goal: {limit.goal_files} files, {limit.goal_lines:,} lines)"
    )
