"""The space-time diagram in a terminal (Lamport 1978): a line per lane, time to the right.

    rank 0  ●━━━━━╲▒▒▒▒▒▒▒▒▒●━━━━━      ━ in an operation    ▓ computing
                   ╲       ╱            ░ waiting            ▒ waiting for what is on its way
    rank 1  ●━━━━━━━●━━━━━╱░░░░░░       ╲ a message, as slow as it slopes

Each line is text; colours come as (line, column, name) so that it can also be shown without any.
"""

from __future__ import annotations

from typing import Final, NamedTuple

from rich.cells import cell_len

from minitorch_dist.pictures import words
from minitorch_dist.pictures.scene import COMPUTE, OPERATION, TRANSFER, WAIT, Arrow, LaneSpan, Scene

IDLE, BESIDE, GONE = "·", "╌", "✗"
MARKS: Final = {OPERATION: "━", COMPUTE: "▓", WAIT: "░", TRANSFER: "▒"}
WEIGHT: Final = {IDLE: 0, BESIDE: 1, "━": 2, "░": 3, "▒": 4, "▓": 5}
ASCII: Final = str.maketrans("━▓▒░·╌╲╱│─●✗µ…→█▁▂▃▄▅▆▇▶◀►", "=#+-.~\\/|-oxu.>#_..::++><>")


class Picture(NamedTuple):
    lines: list[str]
    paint: list[tuple[int, int, str]]  # line, column, what it belongs to

    def plain(self, only_ascii: bool = False) -> str:
        text = "\n".join(line.rstrip() for line in self.lines)
        return text.translate(ASCII) if only_ascii else text


def draw(
    scene: Scene,
    width: int = 80,
    ranks: int = 16,
    gap: int | None = None,
    window: tuple[int, int] | None = None,
    now: int | None = None,
) -> Picture:
    """At most `width` columns, the first `ranks` lanes, with `gap` lines between two of them. Only a
    `window` of time, and of it only what was before `now`."""
    shown = min(len(scene.lanes), ranks)
    if gap is None:
        gap = 3 if shown <= 4 else 2 if shown <= 8 else 1
    margin = max((cell_len(name) for name in scene.lanes[:shown]), default=0) + 2
    start, end = window or (scene.start, scene.end)
    canvas = _Canvas((start, end), max(width - margin, 10), shown, gap, now)
    for span in scene.spans:
        canvas.span(span)
    for arrow in scene.arrows:
        canvas.arrow(arrow)
    lines, paint = [scene.title[:width], ""], []
    for row, cells in enumerate(canvas.cells):
        name = scene.lanes[row // (gap + 1)] if row % (gap + 1) == 0 else ""
        front = name + " " * (margin - cell_len(name))
        lines.append(front + "".join(cells))
        paint += [(row + 2, len(front) + column, what) for column, what in canvas.paint[row].items()]
    lines += ["", *_ruler((start - scene.start, end - scene.start), margin, canvas.width)]
    hidden = len(scene.lanes) - shown
    if hidden > 0:
        lines.append(f"… and {hidden} more lanes; choose with ranks")
    if scene.note:
        lines.append(scene.note)
    return Picture(lines, paint)


class _Canvas:
    def __init__(self, window: tuple[int, int], width: int, lanes: int, gap: int, now: int | None) -> None:
        self.start, self.end = window
        self.length = max(self.end - self.start, 1)
        self.width, self.lanes, self.pitch = width, lanes, gap + 1
        self.limit = width - 1 if now is None else min(self.column(now), width - 1)
        rows = max(lanes * self.pitch - gap, 0)
        self.cells = [[IDLE if row % self.pitch == 0 else " "] * width for row in range(rows)]
        self.paint: list[dict[int, str]] = [{} for _ in range(rows)]

    def column(self, at: int) -> int:
        """It may be outside."""
        column = (at - self.start) * self.width // self.length
        return column - (at == self.end and column == self.width)

    def span(self, span: LaneSpan) -> None:
        if span.lane >= self.lanes:
            return
        mark = BESIDE if span.is_beside else MARKS[span.kind]
        first, last = self.column(span.start), self.column(max(span.end - 1, span.start))
        row = span.lane * self.pitch
        for column in range(max(first, 0), min(last, self.limit) + 1):
            if WEIGHT.get(self.cells[row][column], 9) <= WEIGHT[mark]:
                self._put(row, column, mark, span.name if span.kind == OPERATION else span.kind)
        if span.failed:
            self._put(row, last, GONE, "failed")

    def arrow(self, arrow: Arrow) -> None:
        """A line of characters. It fills empty space only."""
        if max(arrow.source, arrow.to) >= self.lanes:
            return
        x0, x1 = self.column(arrow.departed), self.column(arrow.arrived)
        y0, y1 = arrow.source * self.pitch, arrow.to * self.pitch
        down, between = (1 if y1 > y0 else -1), abs(y1 - y0)
        before = x0
        for step in range(1, between):
            row = y0 + step * down
            x = x0 + round((x1 - x0) * step / between)
            for column in range(max(min(before + 1, x), 0), min(x, self.width)):
                self._draw(row, column, "─", arrow.name)
            slope = "│" if x == before and x1 - x0 < between / 2 else "╲" if down > 0 else "╱"
            self._draw(row, x, slope, arrow.name)
            before = x
        for column in range(max(before + 1, 0), min(x1, self.width)):
            self._draw(y1 - down, column, "─", arrow.name)
        self._put(y0, x0, "●", arrow.name)
        if arrow.is_received:
            self._put(y1, x1, "●", arrow.name)
        elif between > 1:
            self._put(y1 - down, x1, GONE, "failed")

    def _draw(self, row: int, column: int, mark: str, what: str) -> None:
        if not 0 <= column <= self.limit:
            return
        if row % self.pitch and (self.cells[row][column] in " ─" or mark != "─"):
            self._put(row, column, mark, what)

    def _put(self, row: int, column: int, mark: str, what: str) -> None:
        if not 0 <= column <= self.limit:
            return
        self.cells[row][column] = mark
        self.paint[row][column] = what


def _ruler(window: tuple[int, int], margin: int, width: int) -> list[str]:
    """Instants beneath the lanes."""
    start, length = window[0], max(window[1] - window[0], 1)
    row, marks = [" "] * (margin + width + 12), [" "] * (margin + width)
    free = 0
    for tick in words.ticks(*window, max(width // 12, 2)):
        column = margin + min((tick - start) * width // length, width - 1)
        text = words.span(tick) if tick else "0"
        if column >= free and column + len(text) <= margin + width:
            marks[column] = "│"
            row[column : column + len(text)] = text
            free = column + len(text) + 1
    return ["".join(marks).rstrip(), "".join(row).rstrip()]
