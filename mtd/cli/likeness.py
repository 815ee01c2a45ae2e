"""`mtd likeness`: how much of torch is here, name by name and argument by argument; asks the torch that is installed."""

from __future__ import annotations

import argparse
import importlib
import textwrap
import warnings
from collections.abc import Iterator
from typing import Any

from mtd.cli import comparison
from mtd.cli.comparison import Likeness
from mtd.cli.parser import Parser
from mtd.refusals import Refused


def configure(parser: Parser) -> None:
    parser.takes("""
        module MODULE?  one module, in full: distributed.rpc, nn, Tensor
        --markdown      the table of docs/to_pytorch.md
    """)
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    try:
        torch: Any = importlib.import_module("torch")
    except ImportError as error:
        raise Refused("it compares with torch: pip install torch==2.13.0") from error
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        if options.module is not None:
            theirs = comparison.find("torch", options.module)
            if theirs is None:
                raise Refused(f"there is no torch.{options.module}")
            ours = comparison.find("minitorch_dist", options.module)
            found = comparison.compare(options.module, theirs, object() if ours is None else ours)
            print("\n".join(in_full(found)))
            return 0
        survey = comparison.survey()
    lines = markdown(survey, torch.__version__) if options.markdown else table(survey)
    print("\n".join(lines))
    return 0


def table(survey: list[Likeness]) -> Iterator[str]:
    """A line a module, for the terminal."""
    yield f"{'torch.':<52} {'names':>9} {'arguments':>11}"
    for one in survey:
        whole = len(one.shared) + len(one.missing)
        same = one.comparable - len(one.arguments)
        names = f"{len(one.shared)} of {whole}"
        yield f"{one.name or '(itself)':<52} {names:>11} {f'{same} of {one.comparable}':>9}"
    yield "\nmtd likeness MODULE names what is missing"


def in_full(found: Likeness) -> Iterator[str]:
    whole = len(found.shared) + len(found.missing)
    yield f"{len(found.shared)} of the {whole} public names of torch.{found.name} are here."
    if found.missing:
        yield textwrap.fill(f"Not here: {', '.join(found.missing)}", 80)
    for name, lacking in sorted(found.arguments.items()):
        yield textwrap.fill(f"{name} does not take: {', '.join(sorted(lacking))}", 80)


def markdown(survey: list[Likeness], version: str) -> Iterator[str]:
    yield f"torch {version.partition('+')[0]}; `mtd likeness --markdown` makes this table.\n"
    yield "| module of torch | names here | take all arguments | not here |"
    yield "|---|---|---|---|"
    for one in survey:
        whole = len(one.shared) + len(one.missing)
        same = one.comparable - len(one.arguments)
        shown = one.missing[:MOST] if len(one.missing) <= MOST else []
        missing = ", ".join(f"`{name}`" for name in shown) or (
            f"{len(one.missing)} names" if one.missing else ""
        )
        title = f"`torch.{one.name}`" if one.name else "`torch`"
        yield f"| {title} | {len(one.shared)} of {whole} | {same} of {one.comparable} | {missing} |"


MOST = 8  # names that are listed
