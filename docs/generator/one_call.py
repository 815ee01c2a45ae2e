"""`python docs/generator/one_call.py` writes docs/one_call.md: *one call, end to end*, for each trip, as `mtd road` prints it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from mtd.cli.road.counting import HOUSE, Road, about
from mtd.cli.road.trips import STORIES, TRIPS, Trip

PAGE = HOUSE / "docs" / "one_call.md"

HEAD = """# One call, end to end

Take one call and read what it does, from the line that you write to the last function of ours. Each table lists
the files in the order in which the call first enters them, what each file is, and the functions it runs there.
A function is listed once. Code that runs in another thread, on another rank, or in numpy is not listed.

Read the few sentences above a table first: they say what happens, and why. Words in *italics* stand in the
[glossary](glossary.md). A call goes back and forth between files, so the table does not show the order of functions
in two files. `mtd road NAME --functions` gives the line of each function.

This page is made by running the calls: `python docs/generator/one_call.py`. A test compares it with a new run. `mtd road NAME`
prints one of the tables. The lines count each function from its first line to its last, with comments and without its
docstring. The goals stand in `mtd/cli/road/trips.py`.
"""


def page(roads: Sequence[tuple[Trip, Mapping[str, Road]]]) -> str:
    parts = [HEAD, "| trip | files | lines | goal |\n|---|---|---|---|\n" + "".join(
        f"| {name} | {len(road.files)} | {road.lines:,} | "
        f"≤ {trip.limits[name].goal_files} files, ≤ {trip.limits[name].goal_lines:,} lines |\n"
        for trip, by_name in roads for name, road in by_name.items()
    )]  # fmt: skip
    for trip, by_name in roads:
        parts.append(f"## {trip.title}\n\n{STORIES[trip.name]}\n")
        for name, road in by_name.items():
            title = f"### {name}\n\n" if len(by_name) > 1 else ""
            parts.append(f"{title}{len(road.files)} files, {road.lines:,} lines.\n\n{table(road)}")
    return "\n".join(parts)


def table(road: Road) -> str:
    rows = "".join(
        f"| [{_shown(path)}](../{path}) | {about(path)} | {', '.join(f'`{name}`' for name in names(road, path))} |\n"
        for path in road.files
    )
    return "| file | what it is | functions |\n|---|---|---|\n" + rows


def names(road: Road, path: str) -> list[str]:
    """The functions of a file, without those inside them (`<lambda>`, `<listcomp>`)."""
    found = [f.name for f in road.functions_of(path)]
    return [name for name in dict.fromkeys(found) if "<" not in name] or found[:1]


def _shown(path: str) -> str:
    return path.removeprefix("minitorch_dist/").removesuffix(".py")


if __name__ == "__main__":
    PAGE.write_text(page([(trip, trip.shortest_roads()) for trip in TRIPS.values()]), "utf-8")
