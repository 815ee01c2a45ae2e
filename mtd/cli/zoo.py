"""`mtd zoo`: seven hangs that people met in public, and what is said about them here."""

from __future__ import annotations

import argparse
import importlib.util
import inspect
import shutil
import textwrap

from minitorch_dist import sim
from mtd import zoo
from mtd.cli import scripts
from mtd.cli.page import Page
from mtd.cli.parser import Parser
from mtd.refusals import CannotDo


def configure(parser: Parser) -> None:
    parser.takes(f"""
        name {{{",".join(zoo.NAMES)}}}?  one of them; else all are listed
        --real  as a program of real PyTorch, on simulated ranks
    """)
    parser.needs("--real", "name")
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    if arguments.name is None:
        width = min(shutil.get_terminal_size().columns, 80)
        for name in zoo.NAMES:
            first = (zoo.exhibit(name).__doc__ or "").partition("\n")[0]
            print(textwrap.fill(f"{name:<22} {first}", width, subsequent_indent=" " * 23))
        return 0
    exhibit = zoo.exhibit(arguments.name)
    text, hang = inspect.getsource(exhibit), exhibit.hang
    if arguments.real:
        if importlib.util.find_spec("torch") is None:
            raise CannotDo("--real takes real PyTorch, which is not here: pip install 'minitorch_dist[torch]'")
        text, hang = zoo.real(arguments.name)
    print(text)
    print(f"──── run with {exhibit.RANKS} ranks ────\n")
    try:
        sim.run(hang, exhibit.RANKS)
    except Exception as error:
        Page().say(scripts.shown(error))
    return 0
