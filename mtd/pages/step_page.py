"""A step as one HTML file that opens from the disk: what one rank of each role did, its memory, and the chain that its
time is. SVG, and a few KB of our own script (`step_page.js`); nothing is ever loaded.

    LaneOfRole ×n ──┐
    StepSpan ×n ────┼─► as JSON ─► step_page.js draws it as wide as the window
    words, tables ──┘
"""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from typing import Any, Final, NamedTuple

from mtd.pages import html_files

KINDS: Final = ("computing", "communication that nothing hides", "communication begun beside the program", "waiting")
COMPUTING, EXPOSED, HIDDEN, WAITING = range(4)
FINEST: Final = 4000  # shorter parts of the whole are joined with their neighbours


class StepSpan(NamedTuple):
    start: int
    end: int
    kind: int  # of KINDS
    text: str


class LaneOfRole(NamedTuple):
    """One rank, whatever others do the same: its program, what moved beside it, and what it held by category."""

    name: str
    program: Sequence[StepSpan]
    beside: Sequence[StepSpan]
    memory: Sequence[tuple[int, dict[str, int]]] = ()
    room: int | None = None  # bytes of its device
    marks: Sequence[tuple[int, str]] = ()  # instants that the program has named


class PageTable(NamedTuple):
    title: str
    head: Sequence[str]
    rows: Sequence[Sequence[str]]


def html(
    title: str,
    words: Sequence[str],
    end: int,
    lanes: Sequence[LaneOfRole],
    chain: Sequence[StepSpan],
    chain_words: Sequence[str],
    tables: Sequence[PageTable],
    notes: Sequence[str],
) -> str:
    """The page as text. `chain` is the critical path."""
    held = [held for lane in lanes for _, held in lane.memory]
    categories = list(dict.fromkeys(name for each in held for name, nbytes in each.items() if nbytes))
    data = {
        "end": end,
        "kinds": KINDS,
        "categories": categories,
        "chain": joined(chain, end),
        "lanes": [
            {
                "name": lane.name,
                "program": joined(lane.program, end),
                "beside": joined(lane.beside, end),
                "room": lane.room,
                "memory": _memory(lane.memory, categories, end),
                "marks": lane.marks,
            }
            for lane in lanes
        ],
    }
    return html_files.filled(
        "mtd.pages",
        "step_page",
        data,
        title=escape(title),
        words=_each("p", words),
        chain_words=_each("li", chain_words),
        notes=_each('p class="note"', notes),
        tables="".join(map(_table, tables)),
    )


def joined(spans: Sequence[StepSpan], end: int) -> list[list[Any]]:
    """Neighbours of one kind that nobody could tell apart become one."""
    found: list[list[Any]] = []
    least = end / FINEST
    for start, stop, kind, text in spans:
        last = found[-1] if found else None
        if (
            last is not None
            and last[2] == kind
            and start <= last[1] + least / 4
            and (stop - start < least or last[1] - last[0] < least)
        ):
            last[1], last[4] = max(last[1], stop), last[4] + 1
        else:
            found.append([start, stop, kind, text, 1])
    return found


def _memory(samples: Sequence[tuple[int, dict[str, int]]], categories: Sequence[str], end: int) -> list[list[int]]:
    """Of the samples that fall into one column of pixels, the one with the most bytes."""
    found: list[list[int]] = []
    least = end / FINEST
    for at, held in samples:
        row = [held.get(name, 0) for name in categories]
        if not found or at - found[-1][0] >= least:
            found.append([at, *row])
        elif sum(row) > sum(found[-1][1:]):
            found[-1][1:] = row
    return found


def _each(tag: str, lines: Sequence[str]) -> str:
    """Each line within this element."""
    return "".join(f"<{tag}>{escape(line)}</{tag.partition(' ')[0]}>" for line in lines)


def _table(table: PageTable) -> str:
    head, rows = _each("th", table.head), "".join(f"<tr>{_each('td', row)}</tr>" for row in table.rows)
    return (
        f'<h2>{escape(table.title)}</h2><div class="wide"><table><thead><tr>{head}</tr></thead>'
        f"<tbody>{rows}</tbody></table></div>"
    )
