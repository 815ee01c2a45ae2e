"""A grid that can be stepped: as a part of any page (a notebook's output), or as a page that opens from the disk.

The steps are tables, one below the other, which a reader without scripts sees all. `grid_page.js` shows one at a
time, with buttons and the arrow keys. Nothing is ever loaded.
"""

from __future__ import annotations

from collections.abc import Iterator
from html import escape
from itertools import count
from typing import Final

from minitorch_dist.pictures.colours import PALETTE
from mtd.grids.grid_cells import EMPTY, GridCells, GridMessage, letter
from mtd.pages.html_files import text_of

_numbers: Final = count()


def part(grid: GridCells) -> str:
    """As a part of a page."""
    style, script = (text_of("mtd.grids", f"grid_page.{end}") for end in ("css", "js"))
    first = grid.fault.step if grid.fault else 0
    steps = "".join("".join(_step(grid, number)) for number in range(len(grid.steps)))
    kinds = ["bad" if grid.fault else "note", *["note"] * len(grid.notes)]
    words = "".join(f'<p class="{kind}">{escape(text)}</p>' for kind, text in zip(kinds, grid.words(), strict=False))
    name = f"mtd-grid-{next(_numbers)}"
    return (
        f'<div class="mtd-grid" id="{name}" data-first="{first}" tabindex="0"><style>{style}</style>'
        f"<h4>{escape(grid.title)}</h4><nav></nav>{steps}{words}"
        f"<script>{script.replace('NAME', name)}</script></div>"
    )


def draw(*grids: GridCells) -> str:
    """A page of them as text."""
    title = grids[0].title if grids else "nothing was held in chunks"
    parts = "<br>".join(map(part, grids))
    return text_of("mtd.grids", "grid_page.html").format(title=escape(title), part=parts)


def _step(grid: GridCells, number: int) -> Iterator[str]:
    step = grid.steps[number]
    name = f"Step {step.name}" if number else step.name.capitalize()
    yield f"<section><table><caption>{escape(name)}</caption><thead><tr><th>{escape(grid.of)}</th>"
    yield from (f"<th>{escape(head)}</th>" for head in grid.columns)
    yield "</tr></thead><tbody>"
    for row, cells in enumerate(step.cells):
        yield f"<tr><th>{escape(grid.rows[row])}</th>"
        for column, cell in enumerate(cells):
            yield _cell(grid, number, row, column, cell)
        yield "</tr>"
    yield "</tbody></table><ul>"
    yield from (_message(grid, number, message) for message in step.messages)
    yield "</ul></section>"


def _cell(grid: GridCells, number: int, row: int, column: int, cell: str) -> str:
    before = grid.steps[max(number - 1, 0)].cells[row][column]
    kinds = {
        "wrong": grid.mark(number, row, column),
        "done": grid.is_whole(cell, row, column),
        "new": number and cell != before,
    }
    kind = " ".join(name for name, is_so in kinds.items() if is_so)
    stripes = _stripes(cell, len(grid.rows))
    return f'<td class="{kind}" style="background:{stripes}">{escape(cell or EMPTY)}</td>'


def _stripes(cell: str, size: int) -> str:
    """A stripe for each rank; transparent where it gave nothing."""
    stops = []
    for rank in range(size):
        paint = PALETTE[rank % len(PALETTE)].hex + "60" if letter(rank) in cell else "transparent"
        stops.append(f"{paint} {100 * rank / size:.0f}% {100 * (rank + 1) / size:.0f}%")
    return f"linear-gradient(90deg,{','.join(stops)})"


def _message(grid: GridCells, number: int, message: GridMessage) -> str:
    fault = grid.fault
    is_bad = fault is not None and fault[:2] == (number, message.to) and fault.column in message.columns
    where = f" <code>{escape(message.where)}</code>" if message.where else ""
    names = " → ".join(escape(grid.rows[row]) for row in (message.source, message.to))
    return f'<li class="{"bad" if is_bad else ""}">{names}: <b>{escape(message.text)}</b>{where}</li>'
