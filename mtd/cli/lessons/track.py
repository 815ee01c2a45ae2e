"""`mtd track`: orders in which the lessons are read, and which of them is yours."""

from __future__ import annotations

import argparse

from rich.table import Table
from rich.text import Text

from mtd.cli.lessons.commands import in_a_folder, opened
from mtd.cli.lessons.listing import hours
from mtd.cli.page import Page
from mtd.cli.parser import Parser
from mtd.course import progress as progresses, tracks
from mtd.course.workspace import Workspace


def configure(parser: Parser) -> None:
    parser.takes("track?  evening, training or wires; without it all are shown")
    parser.set_defaults(run=run, epilog="mtd track training")


def run(options: argparse.Namespace) -> int:
    page = Page()
    with in_a_folder():
        workspace, _ = opened(page)
        if options.track:
            choose(workspace, options.track)
        show(page, workspace)
    return 0


def choose(workspace: Workspace, name: str) -> None:
    """From now on `mtd` goes on in this track."""
    track = tracks.find(name, workspace.room)
    with progresses.changing(workspace.folder) as progress:
        progress.track = track.name
        first = next(iter(track.left(progress.done)), None)
        progress.present = first.number if first else progress.present


def show(page: Page, workspace: Workspace) -> None:
    progress = workspace.progress()
    current = tracks.chosen(progress, workspace.room)
    table = Table.grid(padding=(0, 2))
    for track in tracks.all_tracks(workspace.room):
        done = len(track.numbers & progress.passed.keys())
        table.add_row(
            "▶" if track == current else "",
            Text(track.name, "bold"),
            track.about,
            Text(f"{hours(track.minutes)}, {done} of {len(track.lessons)} passed", "dim"),
        )
    page.say(table)
    here = workspace.present(progress)
    page.tell("Next: ", (f"{here.label} {here.title}", "bold"), f"  {here.question}")
