"""A line per lane: what it spent its time on, and what it held in memory."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Sequence
from itertools import pairwise

from minitorch_dist.pictures import words
from minitorch_dist.pictures.scene import COMPUTE, OPERATION, TRANSFER, WAIT, LaneSpan, Scene
from minitorch_dist.pictures.spacetime import BESIDE, IDLE, MARKS, Picture

LEVELS = " ▁▂▃▄▅▆▇█"
ORDER = (OPERATION, WAIT, TRANSFER, COMPUTE)  # what is drawn later wins


def gantt(scene: Scene, width: int = 80, ranks: int = 32) -> Picture:
    """The bars of each lane, with the part of the time that it computed, communicated and waited."""
    shown = min(len(scene.lanes), ranks)
    margin = max((len(name) for name in scene.lanes[:shown]), default=0) + 2
    columns = max(width - margin - 18, 10)
    start, length = scene.start, max(scene.end - scene.start, 1)
    lines = [" " * (margin + columns) + "  comp  comm  wait"]
    paint: list[tuple[int, int, str]] = []
    for lane in range(shown):
        row = [IDLE] * columns
        own = [span for span in scene.spans if span.lane == lane]
        for span in sorted((each for each in own if each.kind in ORDER), key=lambda each: ORDER.index(each.kind)):
            mark = BESIDE if span.is_beside else MARKS[span.kind]
            for column in _columns_of(span, start, length, columns):
                if not span.is_beside or row[column] == IDLE:
                    row[column] = mark
                    what = span.name if span.kind == OPERATION else span.kind
                    paint.append((len(lines), margin + column, what))
        for column, kind in crowded(own, start, length, columns).items():
            row[column] = MARKS[kind]
        computes, waits = (covered(scene, lane, (kind,)) / length for kind in (COMPUTE, WAIT))
        busy = covered(scene, lane, (OPERATION, TRANSFER, WAIT)) / length
        shares = computes, max(0.0, busy - waits), waits
        numbers = "".join(f"{share:>6.0%}" for share in shares)
        lines.append(scene.lanes[lane].ljust(margin) + "".join(row) + numbers)
    lines += ["", f"{'':{margin}}▓ computes  ━ communicates  ▒ waits for what is on its way"]
    lines.append(f"{'':{margin}}░ waits, and nothing is on its way  ╌ beside  · neither")
    lines.append(f"{'':{margin}}{words.span(length)} in all")
    if shown < len(scene.lanes):
        lines.append(f"… and {len(scene.lanes) - shown} more lanes; choose with ranks")
    return Picture(lines, paint)


def crowded(spans: Sequence[LaneSpan], start: int, length: int, columns: int) -> dict[int, str]:
    """The columns in which several short spans of one kind lie, and what took most of the time of each.

    There what is drawn later would hide all else. A single short span is shown, however short it is.
    """
    short, taken = Counter[tuple[int, str]](), defaultdict[int, Counter[str]](Counter)
    for span in spans:
        if span.is_beside or span.kind == OPERATION:  # what it computes and waits for are spans of their own
            continue
        reached = _columns_of(span, start, length, columns)
        short[reached.start, span.kind] += len(reached) < 2
        for column in reached:
            begin, end = start + column * length // columns, start + (column + 1) * length // columns
            taken[column][span.kind] += min(span.end, end) - max(span.start, begin)
    full = {column for (column, _), count in short.items() if count > 1 and column in taken}
    return {column: taken[column].most_common(1)[0][0] for column in full}


def _columns_of(span: LaneSpan, start: int, length: int, columns: int) -> range:
    first, last = ((at - start) * columns // length for at in (span.start, max(span.end - 1, span.start)))
    return range(first, min(last, columns - 1) + 1)


def covered(scene: Scene, lane: int, kinds: tuple[str, ...]) -> int:
    """How long the lane did one of these. Two spans at the same time count once."""
    total = 0
    reached: int | None = None
    for span in scene.spans:  # by their starts
        if span.lane != lane or span.kind not in kinds or span.is_beside:
            continue
        first = span.start if reached is None else max(span.start, reached)
        if span.end > first:
            total += span.end - first
            reached = span.end
    return total


def memory(scene: Scene, width: int = 80, ranks: int = 32) -> Picture:
    """How much each lane held, over time: the most in each column."""
    lanes = sorted(scene.memory)[:ranks]
    lines = [f"memory: {scene.memory_is or 'nothing was recorded'}", ""]
    if not lanes:
        return Picture(lines[:1], [])
    margin = max(len(scene.lanes[lane]) for lane in lanes) + 2
    columns = max(width - margin - 12, 10)
    start, length = scene.start, max(scene.end - scene.start, 1)
    most = max(held for lane in lanes for _, held in scene.memory[lane]) or 1
    edges = [start + column * length // columns for column in range(columns + 1)]
    for lane in lanes:
        row = []
        for first, last in pairwise(edges):
            inside = [held for at, held in scene.memory[lane] if first <= at < last]
            row.append(LEVELS[-(-max([scene.held(lane, first), *inside]) * 8 // most)])
        peak = max(held for _, held in scene.memory[lane])
        lines.append(f"{scene.lanes[lane]:<{margin}}{''.join(row)}{words.amount(peak):>11}")
    lines += ["", f"{'':{margin}}█ is {words.amount(most)}; at the right the most of each"]
    return Picture(lines, [])
