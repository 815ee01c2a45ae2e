"""`mtd help`: the commands on one screen; one of them, or all, in full."""

from __future__ import annotations

import argparse
import shutil
import sys
import textwrap

from mtd.cli.page import Page
from mtd.cli.parser import Parser, near
from mtd.refusals import CannotDo

TOP = """\
minitorch_dist: PyTorch's distributed stack from scratch, in pure Python and \
numpy. Without a command, mtd opens the course where you left it."""
SHOWN = {  # of each group some, with what they can be given
    "text": "text 13",
    "check": "check 13",
    "hint": "hint 13",
    "run": "run train.py",
    "zoo": "zoo",
    "show": "show run.mtd",
    "simulate": "simulate all_reduce",
    "plan": "plan llama3-8b",
    "bench": "bench nn",
}
LAST = "mtd help NAME says more about a command, mtd help all about each of them."
WIDEST = 79


def configure(parser: Parser) -> None:
    parser.takes("about?  a command, or: all")
    parser.set_defaults(run=run, epilog="mtd help check, or mtd help all")


def run(options: argparse.Namespace) -> int:
    from mtd.cli import COMMANDS, GROUPS, main

    page = Page()
    if options.about is None:
        sys.stdout.write(first_screen(GROUPS))
    elif options.about == "all":
        for title, group in GROUPS.items():
            page.tell((title, "bold"))
            for name, said in group.items():
                page.say(f"{name:<10} {said}", indent=2)
    elif options.about in COMMANDS:
        return main([options.about, "--help"])
    else:
        raise CannotDo(f"there is no command {options.about!r}{near(options.about, COMMANDS)}: mtd help all")
    return 0


def first_screen(groups: dict[str, dict[str, str]]) -> str:
    """At most 24 lines of 79 columns; more lines where the terminal has fewer columns."""
    width = min(shutil.get_terminal_size().columns - 1, WIDEST)
    lines = textwrap.wrap(TOP, width)
    for title, group in groups.items():
        lines += ["", title] if title == next(iter(groups)) else [title]
        for name in [name for name in group if name in SHOWN]:
            said = f"{f'  mtd {SHOWN[name]}':<25}  {group[name]}"
            lines += textwrap.wrap(said, width, subsequent_indent=27 * " ")
        rest = f"also: {', '.join(sorted(group.keys() - SHOWN))}"
        lines += textwrap.wrap(rest, width, initial_indent="  ", subsequent_indent=8 * " ")
    return "\n".join([*lines, *textwrap.wrap(LAST, width)]) + "\n"
