"""`mtd papers blind`: plans beside published rows of training, half of which were never looked at while anything was fitted."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from typing import Any, Final

from rich.console import Console

from mtd.cli import page
from mtd.papers import blind
from mtd.papers.blind import BlindRow, PredictedRow, Summary

EVERY: Final = 10**6  # GPUs
EACH: Final = 20  # rows, after which a line is told
ASKED: Final = Summary(0, 0.07, 0.07, 0.85, 0.03, 0.03, 0)  # of rows that are held back


def run(console: Console, is_long: bool) -> int:
    """0 if the rows that are held back are as near as was asked."""
    rows = blind.rows(EVERY if is_long else blind.USUAL)
    found = list(_predicted(rows))
    looked = [each for each in found if not each.row.is_held_back]
    held = [each for each in found if each.row.is_held_back]
    console.print(page.fitting(_rows(looked), console))
    summary = blind.summary(held)
    parts = {"looked at": looked, "held back": held}
    parts |= {
        f"  {name}": [p for p in held if p.row.device == name]
        for name in sorted({p.row.device for p in held})
    }
    console.print(page.fitting(_summaries(parts), console))
    holds = is_near(summary)
    console.print(f"Asked of the rows that are held back: a mean of 7 %, 85 % within 10 %, no slope above 3 %, and none too large "
                  f"for its device. {'All of it holds.' if holds else 'Not all of it holds.'}")  # fmt: skip
    return 0 if holds else 1


def is_near(found: Summary) -> bool:
    slopes = max(abs(found.by_size), abs(found.by_length))
    return (
        found.mean <= ASKED.mean
        and found.near >= ASKED.near
        and slopes <= ASKED.by_size
        and not found.too_full
    )


def _predicted(rows: Sequence[BlindRow]) -> Iterator[PredictedRow]:
    with ProcessPoolExecutor(os.cpu_count(), get_context("forkserver")) as pool:
        for number, found in enumerate(pool.map(blind.predicted, rows), 1):
            if number % EACH == 0:
                print(f"{number} of {len(rows)} rows", file=sys.stderr, flush=True)
            yield found


def _rows(found: Sequence[PredictedRow]) -> Any:
    table = page.table("rows that may be looked at", "published", "ours", "difference", "memory")
    for each in found:
        table.add_row(
            each.row.name,
            f"{each.row.tokens:,.0f}",
            f"{each.tokens:,.0f}",
            f"{each.error:+.1%}",
            f"{each.held:.0%}",
        )
    return table


def _summaries(parts: dict[str, list[PredictedRow]]) -> Any:
    table = page.table("", "rows", "mean", "median", "within 10 %", "by size", "by length", "too large")
    for name, found in parts.items():
        if found:
            s = blind.summary(found)
            table.add_row(
                name, str(s.rows), f"{s.mean:.1%}", f"{s.median:.1%}", f"{s.near:.1%}", f"{s.by_size:+.1%}",
                f"{s.by_length:+.1%}", str(s.too_full),
            )  # fmt: skip
    return table
