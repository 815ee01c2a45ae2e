"""A grid as SVG: its steps beside each other, or one that moves by itself, without a script.

Each cell has a stripe for each rank, which is filled when that rank's contribution is in it. In the SVG that
moves, messages travel from rank to rank, and cells change when they arrive (SMIL). A reader without
animations sees the last step.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator
from html import escape
from textwrap import wrap
from typing import Final

from minitorch_dist.pictures.colours import PALETTE
from mtd.grids.grid_cells import EMPTY, GridCells, GridMessage, letter
from mtd.pages.html_files import text_of

HIGH, PITCH, TOP, MARGIN, GAP = 26, 34, 52, 64, 34
TITLE, LETTER, LINE = 26, 6.7, 18  # the title's height, and about how wide and high a letter is
LEAST: Final = 420  # pixels in width
_PART: Final = re.compile("[a-zA-Z][₀-₉₋]*")  # of a cell: a rank, and of which element
SECONDS: Final = 1.5  # for each step


def draw(grid: GridCells, width: int = 900) -> str:
    """All steps, from left to right and then below."""
    plan = _GridPlan(grid)
    per_line = max((width - MARGIN) // (plan.wide + GAP), 1)
    parts = []
    for number in range(len(grid.steps)):
        line, place = divmod(number, per_line)
        x, y = MARGIN + place * (plan.wide + GAP), TITLE + line * plan.tall
        parts.append(f'<g transform="translate({x} {y})">')
        parts += [*plan.step(number), "</g>"]
        if place == 0:
            parts += plan.names(y)
    lines = -(-len(grid.steps) // per_line)
    used = MARGIN + min(per_line, len(grid.steps)) * (plan.wide + GAP)
    return _element(grid, parts, min(max(used, LEAST), width), TITLE + lines * plan.tall)


def moving(grid: GridCells) -> str:
    """One grid that fills: in each step the messages travel, and then the cells change."""
    plan = _GridPlan(grid)
    total = SECONDS * (len(grid.steps) + 1)  # the last step stays a while
    parts = [f'<g transform="translate({MARGIN} {TITLE})">', *plan.heads()]
    for number, step in enumerate(grid.steps):
        begin, end = _times(number, len(grid.steps))
        is_last = number == len(grid.steps) - 1
        shown = f'opacity="{int(is_last)}">{escape(plan.name(number))}{_shown(begin, end, total, is_last)}'
        parts.append(f'<text class="soft" y="{TOP - 30}" {shown}</text>')
        for row, column, now in plan.runs(number):
            begun, ended = _times(number, len(grid.steps))[0], _times(now, len(grid.steps))[1]
            stays = now == len(grid.steps) - 1
            inside = "".join(plan.cell(number, row, column))
            parts.append(f'<g opacity="{int(stays)}">{_shown(begun, ended, total, stays)}{inside}</g>')
        for message in step.messages:
            parts += plan.travel(message, number, total)
    parts += ["</g>", *plan.names(TITLE)]
    return _element(grid, parts, max(MARGIN + plan.wide + 20, LEAST), TITLE + plan.tall)


def _times(step: int, steps: int) -> tuple[float, float]:
    """When a step begins and ends, as parts of the whole."""
    return step / (steps + 1), 1.0 if step == steps - 1 else (step + 1) / (steps + 1)


def _shown(begin: float, end: float, total: float, is_last: bool) -> str:
    """Seen from `begin` to `end`."""
    moments = {0.0: int(begin == 0), begin: 1, **({} if is_last else {end: 0})}
    return _animate("opacity", [*map(str, moments.values())], [*moments], total, "discrete")


def _animate(name: str, values: list[str], times: list[float], total: float, mode: str) -> str:
    moments = ";".join(f"{at:.4f}" for at in times)
    return (
        f'<animate attributeName="{name}" values="{";".join(values)}" keyTimes="{moments}" calcMode="{mode}" '
        f'dur="{total:g}s" repeatCount="indefinite"/>'
    )


class _GridPlan:
    """Where cells are."""

    def __init__(self, grid: GridCells) -> None:
        self.grid = grid
        longest = max((len(cell) for step in grid.steps for row in step.cells for cell in row), default=1)
        heads = max(map(len, grid.columns), default=1)
        self.box = max(8 + 8 * max(longest, heads), 11 * len(grid.rows), 30)
        self.pitch = self.box + 6
        self.wide = self.pitch * len(grid.columns)
        self.tall = TOP + PITCH * len(grid.rows) + 8

    def y(self, row: int) -> int:
        return TOP + row * PITCH

    def names(self, top: int) -> Iterator[str]:
        for row, name in enumerate(self.grid.rows):
            yield f'<text class="soft" x="8" y="{top + self.y(row) + 18}">{escape(name)}</text>'

    def heads(self) -> Iterator[str]:
        for column, name in enumerate(self.grid.columns):
            x = column * self.pitch + self.box / 2
            yield f'<text class="soft cell" x="{x:g}" y="{TOP - 10}">{escape(name)}</text>'

    def name(self, number: int) -> str:
        name = self.grid.steps[number].name
        return f"step {name}" if number else name

    def step(self, number: int) -> Iterator[str]:
        yield f'<text y="{TOP - 30}">{escape(self.name(number))}</text>'
        yield from self.heads()
        for row, column in self.places():
            yield from self.cell(number, row, column)

    def places(self) -> Iterator[tuple[int, int]]:
        return itertools.product(range(len(self.grid.rows)), range(len(self.grid.columns)))

    def runs(self, number: int) -> Iterator[tuple[int, int, int]]:
        """The cells that changed in a step, each with the last step in which it is still the same."""
        seen = [
            {place: (step.cells[place[0]][place[1]], self.grid.mark(at, *place)) for place in self.places()}
            for at, step in enumerate(self.grid.steps)
        ]
        for place in self.places():
            if number and seen[number][place] == seen[number - 1][place]:
                continue
            last = number
            while last + 1 < len(seen) and seen[last + 1][place] == seen[number][place]:
                last += 1
            yield *place, last

    def cell(self, number: int, row: int, column: int) -> Iterator[str]:
        cell = self.grid.steps[number].cells[row][column]
        x, y = column * self.pitch, self.y(row)
        yield f'<rect class="paper" x="{x}" y="{y}" width="{self.box}" height="{HIGH}"/>'
        yield from self.stripes(cell, x, y)
        kind = "done" if self.grid.is_whole(cell, row, column) else ""
        kind = "wrong" if self.grid.mark(number, row, column) else kind
        yield f'<rect class="box {kind}" x="{x}" y="{y}" width="{self.box}" height="{HIGH}" rx="4"/>'
        yield from self.inscription(cell or EMPTY, x, y)

    def stripes(self, text: str, x: float, y: float) -> Iterator[str]:
        size = len(self.grid.rows)
        for rank in range(size):
            if letter(rank) in text:
                paint = PALETTE[rank % len(PALETTE)].hex
                wide = self.box / size
                yield f'<rect x="{x + rank * wide:.1f}" y="{y}" width="{wide:.1f}" height="{HIGH}" fill="{paint}" fill-opacity=".38"/>'

    def inscription(self, text: str, x: float, y: float) -> Iterator[str]:
        """The contents of a cell; each letter on the stripe of its rank, if there is room."""
        wide = self.box / len(self.grid.rows)
        parts: dict[str, str] = {}
        for part in _PART.findall(text):
            parts[part[0]] = parts.get(part[0], "") + part
        ranks = {letter(rank): rank for rank in range(len(self.grid.rows))}
        fits = all(one in ranks and 8 * len(said) <= wide + 4 for one, said in parts.items())
        places = [(ranks[one] * wide + wide / 2, said) for one, said in parts.items()] if fits else []
        for at, said in places or [(self.box / 2, text)]:
            yield f'<text class="cell" x="{x + at:.1f}" y="{y + 17.5}">{escape(said)}</text>'

    def travel(self, message: GridMessage, number: int, total: float) -> Iterator[str]:
        """A message on its way, in the second half of the step before."""
        begin, _ = _times(number, len(self.grid.steps))
        leave = begin - 0.55 / (len(self.grid.steps) + 1)
        column = message.columns[0] if message.columns else len(self.grid.columns) / 2 - 0.5
        x, ends = column * self.pitch, [self.y(row) for row in (message.source, message.to)]
        moments = ";".join(f"{at:.4f}" for at in (0, leave, begin, 1))
        values = ";".join(f"{x:g} {ends[at]}" for at in (0, 0, 1, 1))
        yield '<g opacity="0">' + _animate("opacity", ["0", "1", "0"], [0, leave, begin], total, "discrete")
        yield (
            f'<animateTransform attributeName="transform" type="translate" values="{values}" keyTimes="{moments}" '
            f'dur="{total:g}s" repeatCount="indefinite"/>'
        )
        yield f'<rect class="paper" width="{self.box}" height="{HIGH}" rx="12"/>'
        yield from self.stripes(message.text, 0, 0)
        yield f'<rect class="box" width="{self.box}" height="{HIGH}" rx="12" stroke-dasharray="3 2"/>'
        yield from self.inscription(message.text, 0, 0)
        yield "</g>"


def _element(grid: GridCells, parts: list[str], width: float, height: float) -> str:
    """The whole, with the words under it, and as wide as the title needs."""
    width = max(width, 16 + 1.15 * LETTER * len(grid.title))
    said: list[str] = []
    for number, text in enumerate(grid.words()):
        kind = "bad" if grid.fault and not number else "soft"
        for line in wrap(text, int((width - 16) / LETTER)):
            y = height + 14 + LINE * len(said)
            said.append(f'<text class="{kind}" x="8" y="{y}">{escape(line)}</text>')
    whole = height + 6 + LINE * len(said)
    return "\n".join(
        [
            f'<svg class="mtd" xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:g} {whole:g}" width="100%" '
            f'style="max-width:{width:g}px" role="img" aria-label="{escape(grid.title)}">',
            f"<style>\n{text_of('mtd.grids', 'grid_svg.css')}</style>",
            f'<rect class="paper" width="{width:g}" height="{whole:g}"/>',
            f'<text x="8" y="18" font-weight="600">{escape(grid.title)}</text>',
            *parts,
            *said,
            "</svg>",
        ]
    )
