"""`mtd diff a.mtd b.mtd`: are two runs the same partial order, and if not, where do they first part?

`mtd diff a.json b.json` compares two plans of `mtd plan --json`: how much faster or slower is each layout, and why?
"""

from __future__ import annotations

import argparse

from minitorch_dist.distributed import journal
from mtd.cli import page, plan_difference
from mtd.cli.parser import Parser
from mtd.planning import saved_plans
from mtd.refusals import refusing


def configure(parser: Parser) -> None:
    parser.takes("""
        a             a journal (a file, the name of its pieces, or a folder), or a plan of mtd plan --json
        b             another one
        --operations  compare which operations ran, and not by which messages (for runs with other algorithms)
    """)
    parser.set_defaults(run=run, epilog="mtd diff one.mtd other.mtd")


def run(options: argparse.Namespace) -> int:
    """0: equal, 1: not, 2: there was nothing to compare. As of `diff`."""
    if saved_plans.is_plan(options.a) or saved_plans.is_plan(options.b):
        return _plans(options)
    with refusing():
        a, b = journal.read(options.a), journal.read(options.b)
        found = journal.diff(a, b, options.operations)
    for run in (a, b):
        print(f"{run.name}: {run!r}")
    if found is None:
        what = "operations" if options.operations else "events"
        print(f"equal: the same {what} in the same partial order")
        return 0
    print(found)
    return 1


def _plans(options: argparse.Namespace) -> int:
    with refusing():
        if options.operations:
            raise ValueError("--operations is about journals, and these are plans")
        before, after = saved_plans.read(options.a), saved_plans.read(options.b)
    return int(plan_difference.show(page.Page(), before, after))
