"""Spans of time, and what they come to: averages, a table, a trace for ui.perfetto.dev."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Final

from minitorch_dist.serialization.files import replacing

PER_MICROSECOND: Final = 10**6  # picoseconds
COLUMNS: Final = ["Name", "Self CPU %", "Self CPU", "CPU total", "CPU time avg", "# of Calls"]
SORTABLE: Final = ("cpu_time_total", "self_cpu_time_total", "cpu_time", "count")


class TimedEvent:
    """A call of an operation, or a block with a name. Times are picoseconds."""

    def __init__(self, name: str, category: str, start: int, shapes: list[list[int]]) -> None:
        self.name, self.category, self.start, self.shapes = name, category, start, shapes
        self.end = start
        self.inside = 0  # of the events that it called
        self.depth = 0

    @property
    def cpu_time_total(self) -> float:
        """Microseconds, with all that it called."""
        return (self.end - self.start) / PER_MICROSECOND

    @property
    def self_cpu_time_total(self) -> float:
        """Microseconds of its own."""
        return (self.end - self.start - self.inside) / PER_MICROSECOND

    def __repr__(self) -> str:
        return f"<TimedEvent {self.name}: {spell(self.cpu_time_total)}>"


@dataclass
class Average:
    """All events of one name. Times are microseconds."""

    key: str
    count: int = 0
    cpu_time_total: float = 0.0
    self_cpu_time_total: float = 0.0

    @property
    def cpu_time(self) -> float:
        """Of one call."""
        return self.cpu_time_total / self.count

    def cells(self, total: float) -> list[str]:
        """A row of the table."""
        share = self.self_cpu_time_total / total if total else 0.0
        times = (self.self_cpu_time_total, self.cpu_time_total, self.cpu_time)
        return [self.key, f"{share:.2%}", *map(spell, times), str(self.count)]


class Averages(list[Average]):
    """The averages of a recording."""

    def table(self, sort_by: str | None = None, row_limit: int = 100) -> str:
        """Lines of text, the largest `sort_by` first. Its column is named as an attribute is; all time is that of the CPU."""
        rows: list[Average] = list(self)
        if sort_by is not None:
            column = sort_by.replace("cuda", "cpu")
            if column not in SORTABLE:
                raise AttributeError(f"there is no column {sort_by!r} to sort by; take one of {SORTABLE}")
            rows.sort(key=lambda row: -getattr(row, column))
        total = sum(row.self_cpu_time_total for row in rows)
        shown = rows if row_limit < 0 else rows[:row_limit]
        lines = [COLUMNS, *(row.cells(total) for row in shown)]
        widths = [max(len(line[number]) for line in lines) for number in range(len(COLUMNS))]
        rule = "  ".join("-" * width for width in widths)
        texts = ["  ".join(cell.rjust(w) for cell, w in zip(line, widths, strict=True)) for line in lines]
        last = f"Self CPU time total: {spell(total)}"
        return "\n".join([rule, texts[0], rule, *texts[1:], rule, last, ""])


def averaged(events: Iterable[TimedEvent]) -> Averages:
    found: dict[str, Average] = {}
    for event in events:
        average = found.setdefault(event.name, Average(event.name))
        average.count += 1
        average.cpu_time_total += event.cpu_time_total
        average.self_cpu_time_total += event.self_cpu_time_total
    return Averages(found.values())


def write_trace(path: str, events: Iterable[TimedEvent], rank: int) -> None:
    """Chrome's trace format. A rank is a process in it, so that the traces of several ranks can be put together."""
    spans: list[dict[str, Any]] = [
        {"ph": "M", "name": "process_name", "pid": rank, "tid": 0, "args": {"name": f"rank {rank}"}}
    ]
    spans += [
        {
            "ph": "X",
            "name": event.name,
            "cat": event.category,
            "pid": rank,
            "tid": 0,
            "ts": event.start / PER_MICROSECOND,
            "dur": event.cpu_time_total,
            "args": {"Input Dims": event.shapes} if event.shapes else {},
        }
        for event in events
    ]
    whole = {"displayTimeUnit": "ms", "traceEvents": spans}
    with replacing(path) as file:
        file.write(json.dumps(whole).encode())


def spell(microseconds: float) -> str:
    if microseconds >= 1e6:
        return f"{microseconds / 1e6:.3f}s"
    return f"{microseconds / 1e3:.3f}ms" if microseconds >= 1e3 else f"{microseconds:.3f}us"
