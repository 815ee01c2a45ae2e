"""`mtd papers`: what papers printed, and what our own code makes of it."""

from __future__ import annotations

import argparse
from itertools import chain

from rich.console import Console

from mtd.cli import page, papers_blind
from mtd.cli.parser import Parser, near
from mtd.papers import PAPERS, paper
from mtd.refusals import CannotDo


def configure(parser: Parser) -> None:
    parser.takes(f"""
        names PAPER*  some of {", ".join(PAPERS)} (all); or blind: plans beside published rows
        --long        also rows that take minutes or hours each
    """)
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    console = Console(highlight=False)
    if options.names == ["blind"]:
        return papers_blind.run(console, options.long)
    for name in options.names:
        if name not in PAPERS:
            said = f"{near(name, [*PAPERS, 'blind'])}; there are {', '.join(PAPERS)}; and blind, alone"
            raise CannotDo(f"there is no paper {name!r}{said}")
    holds = True
    for one in map(paper, options.names or PAPERS):
        console.print(f"\n[bold]{one.title}[/bold]\n{one.source}\n{one.about}")
        table = page.table("", "published", "ours", "difference", "")
        for row in chain(one.rows(), one.long_rows() if options.long else ()):
            holds = holds and row.holds
            difference = "" if row.difference is None else f"{row.difference:+.3%}"
            both = (_said(number, row.unit) for number in (row.published, row.ours))
            table.add_row(row.what, *both, difference, "✓" if row.holds else "✗")
        page.show(table)
    return 0 if holds else 1


def _said(number: float | tuple[float, float], unit: str) -> str:
    if isinstance(number, tuple):
        return f"{number[0]:.3g} … {number[1]:.3g} {unit}".rstrip()
    return f"{number:.6g} {unit}".rstrip()
