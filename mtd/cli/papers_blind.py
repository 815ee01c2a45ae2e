"""`mtd papers blind`: plans beside published rows of training, half of which were never looked at while anything was fitted."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

from rich.console import Console

from mtd.cli import page
from mtd.cli.plan_progress import tell
from mtd.papers import blind
from mtd.papers.blind import BlindRow, PredictedRow, Summary
from mtd.planning import in_processes
from mtd.planning.in_processes import ProcessEnded
from mtd.planning.plan_cache import ROWS, PlanCache

KEPT: Final = Path(".mtd-blind.json")  # what is done, until all is
EVERY: Final = 10**6  # GPUs
EACH: Final = 20  # rows, after which a line is told
ASKED: Final = Summary(0, 0.07, 0.07, 0.85, 0.03, 0.03, 0)  # of rows that are held back


def run(console: Console, is_long: bool) -> int:
    """0 if the rows that are held back are as near as was asked."""
    rows = blind.rows(EVERY if is_long else blind.USUAL)
    cache = PlanCache(KEPT, tell)
    try:
        found = _predicted(rows, cache)
    except (KeyboardInterrupt, ProcessEnded) as error:
        tell(f"mtd papers: {str(error) or 'interrupted'}; {cache.where}")
        return 1 if str(error) else 130
    looked, held = ([each for each in found if each.row.is_held_back == is_held] for is_held in (False, True))
    page.show(_rows(looked))
    parts = {"looked at": looked, "held back": held}
    for name in sorted({each.row.device for each in held}):
        parts[f"  {name}"] = [each for each in held if each.row.device == name]
    page.show(_summaries(parts))
    holds = is_near(blind.summary(held))
    console.print(
        f"Asked of the rows that are held back: a mean of 7 %, 85 % within 10 %, no slope above 3 %, and none too large "
        f"for its device. {'All of it holds.' if holds else 'Not all of it holds.'}"
    )
    return 0 if holds else 1


def is_near(found: Summary) -> bool:
    slopes = max(abs(found.by_size), abs(found.by_length))
    is_close = found.mean <= ASKED.mean and found.near >= ASKED.near
    return is_close and slopes <= ASKED.by_size and not found.too_full


def _predicted(rows: Sequence[BlindRow], cache: PlanCache) -> list[PredictedRow]:
    """Each row that is done is kept until all are."""
    keys = {row: cache.key(*blind.question(row)) for row in rows}
    plans = {row: plan for row in rows if (plan := cache.get(ROWS, keys[row])) is not None}
    if plans:
        tell(f"{len(plans)} of {len(rows)} rows from before, in {cache.path}")

    def wanted() -> list[BlindRow]:
        return [row for row in rows if row not in plans]

    for row, plan in in_processes.simulate(blind.simulated, wanted, os.cpu_count() or 1):
        plans[row] = plan
        cache.keep(ROWS, keys[row], plan.as_dict())
        if len(plans) % EACH == 0:
            tell(f"{len(plans)} of {len(rows)} rows")
    cache.end()
    return [blind.predicted(row, plans[row]) for row in rows]


def _rows(found: Sequence[PredictedRow]) -> Any:
    table = page.table("rows that may be looked at", "published", "ours", "difference", "memory")
    for each in found:
        speeds = f"{each.row.tokens:,.0f}", f"{each.tokens:,.0f}", f"{each.error:+.1%}"
        table.add_row(each.row.name, *speeds, f"{each.held:.0%}")
    return table


def _summaries(parts: dict[str, list[PredictedRow]]) -> Any:
    table = page.table("", "rows", "mean", "median", "within 10 %", "by size", "by length", "too large")
    for name, found in parts.items():
        if found:
            s = blind.summary(found)
            shares = f"{s.mean:.1%}", f"{s.median:.1%}", f"{s.near:.1%}", f"{s.by_size:+.1%}", f"{s.by_length:+.1%}"
            table.add_row(name, str(s.rows), *shares, str(s.too_full))
    return table
