"""Figures and tables of papers, reproduced by our own code: published, ours, difference.

One file for each paper. It offers a `Paper`, whose `rows` runs our code (its counters, its ledger, its
clock; never the printed formula) and puts what came out beside what was published. To add one, write
the file. `mtd papers` prints them, and a test holds each row to its tolerance. `blind` asks plans for 262 published rows, half of which nobody
had looked at.
"""

from __future__ import annotations

import importlib
import pkgutil

from mtd.papers.paper import Paper as Paper, Row as Row

PAPERS = tuple(
    sorted(one.name for one in pkgutil.iter_modules(__path__) if one.name not in ("blind", "paper"))
)


def paper(name: str) -> Paper:
    """By the name of its file."""
    if name not in PAPERS:
        raise ValueError(f"there is no paper {name!r} here; there are {', '.join(PAPERS)}")
    found = importlib.import_module(f"mtd.papers.{name}").PAPER
    assert isinstance(found, Paper)
    return found
