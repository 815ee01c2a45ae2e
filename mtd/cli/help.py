"""`mtd help`: the commands on one screen; one of them, or all, in full."""

from __future__ import annotations

import argparse
import sys
import textwrap

from mtd.cli.page import Page
from mtd.cli.parser import Parser
from mtd.refusals import CannotDo

FIRST = """\
minitorch_dist: PyTorch's distributed stack from scratch, in pure Python and
numpy. Without a command, mtd opens the course where you left it.

The course
  mtd init course       a folder of your own with a skeleton for each lesson
  mtd list              the lessons, and how far you are
  mtd text 13           read a lesson
  mtd check 13          is what you wrote right, and as cheap as can be?
  mtd hint 13           one more hint, up to three
  mtd solution 13       ours, once yours passes
  mtd assemble          what you wrote as one package that trains over wires
Without the course
  mtd demo              four ranks learn to read digits, and a picture of it
  mtd plan llama3-8b    which layout trains a model fastest on these GPUs
  mtd run train.py      a script on every rank of a world, real or simulated
  mtd doctor            what this machine has and lacks

"""
SHOWN = {"init", "list", "text", "check", "hint", "solution", "assemble", "demo", "plan", "run", "doctor"}
LAST = "mtd help NAME says more about a command, mtd help all about each of them."
WIDTH = 79


def configure(parser: Parser) -> None:
    parser.takes("about?  a command, or: all")
    parser.set_defaults(run=run, epilog="mtd help check, or mtd help all")


def run(options: argparse.Namespace) -> int:
    from mtd.cli import COMMANDS, main

    page = Page()
    if options.about is None:
        sys.stdout.write(first_screen(COMMANDS))
    elif options.about == "all":
        for name, said in COMMANDS.items():
            page.say(f"{name:<10} {said}")
    elif options.about in COMMANDS:
        return main([options.about, "--help"])
    else:
        raise CannotDo(f"there is no command {options.about!r}: mtd help all")
    return 0


def first_screen(names: dict[str, str]) -> str:
    """At most 24 lines of 79 columns."""
    rest = f"also: {', '.join(sorted(names.keys() - SHOWN))}"
    return FIRST + "\n".join([*textwrap.wrap(rest, WIDTH, subsequent_indent=6 * " "), LAST]) + "\n"
