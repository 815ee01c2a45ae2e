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
from mtd.refusals import CannotDo


def configure(parser: Parser) -> None:
    parser.takes("""
        module MODULE?  one module, in full: distributed.rpc, nn, Tensor
        --markdown      the table of docs/to_pytorch.md
    """)
    parser.excludes("--markdown", "module")
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    try:
        torch: Any = importlib.import_module("torch")
    except ImportError as error:
        raise CannotDo("it compares with torch: pip install torch==2.13.0") from error
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        if options.module is not None:
            if comparison.find("torch", options.module) is None:
                raise CannotDo(f"there is no torch.{options.module}")
            lines = in_full(comparison.of(options.module))
        elif options.markdown:
            lines = markdown(comparison.survey(), torch.__version__)
        else:
            lines = table(comparison.survey())
    print("\n".join(lines))
    return 0


def table(survey: list[Likeness]) -> Iterator[str]:
    """A line a module, for the terminal."""
    yield f"{'torch.':<52} {'names':>9} {'arguments':>11}"
    for one in survey:
        yield f"{one.name or '(itself)':<52} {one.names:>11} {one.whole:>9}"
    yield "\nmtd likeness MODULE names what is missing"


def in_full(found: Likeness) -> Iterator[str]:
    yield f"{found.names.replace('of', 'of the')} public names of torch.{found.name} are here."
    if found.missing:
        yield textwrap.fill(f"Not here: {', '.join(found.missing)}", 80)
    for name, lacking in sorted(found.arguments.items()):
        yield textwrap.fill(f"{name} does not take: {', '.join(lacking)}", 80)


def markdown(survey: list[Likeness], version: str) -> Iterator[str]:
    yield f"torch {version.partition('+')[0]}; `mtd likeness --markdown` makes this table.\n"
    yield "| module of torch | names here | take all arguments | not here |"
    yield "|---|---|---|---|"
    for one in survey:
        few = ", ".join(f"`{name}`" for name in one.missing)
        missing = few if len(one.missing) <= MOST else f"{len(one.missing)} names"
        title = f"`torch.{one.name}`" if one.name else "`torch`"
        yield f"| {title} | {one.names} | {one.whole} | {missing} |"


MOST = 8  # names that are listed
