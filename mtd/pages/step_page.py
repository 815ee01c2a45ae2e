"""A step as one HTML file that opens from the disk: what one rank of each role did, its memory, and the chain that its
time is. SVG, and a few KB of our own script (`step_page.js`); nothing is ever loaded.

    LaneOfRole ×n ──┐
    ChainPart ×n ───┼─► as JSON ─► step_page.js draws it as wide as the window
    words, tables ──┘
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from html import escape
from typing import Any, Final, NamedTuple

from mtd.pages import html_files

KINDS: Final = (
    "computing",
    "communication that nothing hides",
    "communication begun beside the program",
    "waiting",
)
COMPUTING, EXPOSED, HIDDEN, WAITING = range(4)
FINEST: Final = 4000  # shorter parts of the whole are joined with their neighbours


class StepSpan(NamedTuple):
    start: int
    end: int
    kind: int  # of KINDS
    text: str


class ChainPart(NamedTuple):
    """One part of the critical path."""

    start: int
    end: int
    kind: int
    text: str


@dataclass(frozen=True)
class LaneOfRole:
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


@dataclass(frozen=True)
class StepPage:
    title: str
    words: Sequence[str]
    end: int
    lanes: Sequence[LaneOfRole]
    chain: Sequence[ChainPart]
    chain_words: Sequence[str]
    tables: Sequence[PageTable] = ()
    notes: Sequence[str] = field(default=())

    def html(self) -> str:
        """The page as text."""
        categories = list(dict.fromkeys(
            name for lane in self.lanes for _, held in lane.memory for name, n in held.items() if n
        ))  # fmt: skip
        data = {
            "end": self.end, "kinds": KINDS, "categories": categories,
            "chain": joined(self.chain, self.end),
            "lanes": [
                {
                    "name": lane.name, "program": joined(lane.program, self.end),
                    "beside": joined(lane.beside, self.end), "room": lane.room,
                    "memory": _memory(lane.memory, categories, self.end), "marks": lane.marks,
                }
                for lane in self.lanes
            ],
        }  # fmt: skip
        return html_files.filled(
            "mtd.pages", "step_page", data, title=escape(self.title), words=_paragraphs(self.words),
            chain_words=_items(self.chain_words), notes=_paragraphs(self.notes, "note"), tables="".join(map(_table, self.tables)),
        )  # fmt: skip


def joined(spans: Sequence[StepSpan] | Sequence[ChainPart], end: int) -> list[list[Any]]:
    """Neighbours of one kind that nobody could tell apart become one."""
    found: list[list[Any]] = []
    least = end / FINEST
    for start, stop, kind, text in spans:
        last = found[-1] if found else None
        if (
            last is not None and last[2] == kind and start <= last[1] + least / 4
            and (stop - start < least or last[1] - last[0] < least)
        ):  # fmt: skip
            last[1], last[4] = max(last[1], stop), last[4] + 1
        else:
            found.append([start, stop, kind, text, 1])
    return found


def _memory(
    samples: Sequence[tuple[int, dict[str, int]]], categories: Sequence[str], end: int
) -> list[list[int]]:
    """Of the samples that fall into one column of pixels, the one with the most bytes."""
    found: list[list[int]] = []
    least = end / FINEST
    for at, held in samples:
        row = [at, *(held.get(name, 0) for name in categories)]
        if found and at - found[-1][0] < least:
            if sum(row[1:]) > sum(found[-1][1:]):
                found[-1] = [found[-1][0], *row[1:]]
        else:
            found.append(row)
    return found


def _paragraphs(lines: Sequence[str], kind: str = "") -> str:
    of_kind = f' class="{kind}"' if kind else ""
    return "".join(f"<p{of_kind}>{escape(line)}</p>" for line in lines)


def _items(lines: Sequence[str]) -> str:
    return "".join(f"<li>{escape(line)}</li>" for line in lines)


def _table(table: PageTable) -> str:
    head = "".join(f"<th>{escape(cell)}</th>" for cell in table.head)
    rows = "".join(
        "<tr>" + "".join(f"<td>{escape(cell)}</td>" for cell in row) + "</tr>" for row in table.rows
    )
    return (
        f'<h2>{escape(table.title)}</h2><div class="wide"><table><thead><tr>{head}</tr></thead>'
        f"<tbody>{rows}</tbody></table></div>"
    )
