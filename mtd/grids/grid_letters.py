"""A grid in letters, for a terminal: steps beside each other, and below, as many as fit."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from rich.cells import cell_len

from minitorch_dist.pictures.spacetime import Picture
from mtd.grids.grid_cells import FEW, WRONG, GridCells

GAP: Final = "    "
MOST_LINES: Final = 14


def draw(grid: GridCells, width: int = 80, most: int = MOST_LINES) -> Picture:
    """As many steps as fit: the first and the last, and those around the first wrong cell."""
    blocks = [_Block(grid, step) for step in range(len(grid.steps))]
    margin = max(map(cell_len, [*grid.rows, grid.of])) + 2
    bands = _bands(grid, [block.width for block in blocks], width - margin, most)
    lines, paint = [grid.title], []
    for band in bands:
        fronts = ["", grid.of, *grid.rows]
        for front, *parts in zip(fronts, *(blocks[step].lines for step in band), strict=True):
            lines.append(front.ljust(margin) + GAP.join(parts))
        top, left = len(lines) - len(grid.rows), margin
        for step in band:
            paint += blocks[step].paint(top, left)
            left += blocks[step].width + len(GAP)
    hidden = [grid.steps[at].name for at in range(len(blocks)) if not any(at in band for band in bands)]
    if len(hidden) > FEW:
        lines.append(f"(without {len(hidden)} steps, {hidden[0]} to {hidden[-1]})")
    elif hidden:
        lines.append(f"(without step{'s' * (len(hidden) > 1)} {', '.join(hidden)})")
    return Picture([line.rstrip() for line in lines], paint)


class _Block:
    """A step as lines: its name, the columns' heads, a line for each row."""

    def __init__(self, grid: GridCells, step: int) -> None:
        self.grid, self.step = grid, step
        self.texts = [
            [grid.written(cell, row, column) + WRONG * grid.mark(step, row, column) for column, cell in enumerate(line)]
            for row, line in enumerate(grid.steps[step].cells)
        ]
        self.wide = [max(map(cell_len, column)) for column in zip(grid.columns, *self.texts, strict=True)]
        name = grid.steps[step].name
        self.width = max(sum(self.wide) + len(self.wide) - 1, len(name))
        rows = [" ".join(map(str.ljust, line, self.wide)) for line in [grid.columns, *self.texts]]
        self.lines = [line.ljust(self.width) for line in [name, *rows]]

    def paint(self, top: int, left: int) -> list[tuple[int, int, str]]:
        """The colours of whole cells, and of wrong ones."""
        found = []
        for row, line in enumerate(self.texts):
            at = left
            for column, text in enumerate(line):
                is_whole = self.grid.is_whole(self.grid.steps[self.step].cells[row][column], row, column)
                what = "failed" if text.endswith(WRONG) else "done" if is_whole else ""
                found += [(top + row, at + place, what) for place in range(len(text)) if what]
                at += self.wide[column] + 1
        return found


def _bands(grid: GridCells, wide: Sequence[int], room: int, most: int) -> list[list[int]]:
    """Which steps stand beside each other, in bands below each other."""
    bands, last = max((most - 1) // (len(grid.rows) + 2), 1), len(wide) - 1
    fault = [] if grid.fault is None else [grid.fault.step, max(grid.fault.step - 1, 0)]
    order = [*dict.fromkeys([*fault, last, *range(last + 1)])]  # what must be seen first
    fitting = [_filled(sorted(order[:count]), wide, room) for count in range(1, last + 2)]
    fit = [one for one in fitting if len(one) <= bands]
    return max(fit, key=lambda one: sum(map(len, one)), default=fitting[0])


def _filled(steps: Sequence[int], wide: Sequence[int], room: int) -> list[list[int]]:
    bands: list[list[int]] = []
    for step in steps:
        used = sum(wide[one] + len(GAP) for one in bands[-1]) if bands else 0
        if not bands or used + wide[step] > room:
            bands.append([])
        bands[-1].append(step)
    return bands
