"""Amounts as a picture says them: short. And text whose columns matter, for a page."""

from __future__ import annotations

from html import escape

PICOSECONDS = (("s", 10**12), ("ms", 10**9), ("µs", 10**6), ("ns", 10**3))


MONOSPACE = "font-family: 'DejaVu Sans Mono', Menlo, Consolas, monospace; line-height: 1.2"


def preformatted(text: str) -> str:
    """As HTML whose letters are equally wide, also where a page or an export brings no style of its own."""
    return f'<pre style="{MONOSPACE}">{escape(text)}</pre>'


def span(picoseconds: int) -> str:
    """`1.2 ms`"""
    for unit, size in PICOSECONDS:
        if abs(picoseconds) >= size:
            return f"{picoseconds / size:.3g} {unit}" if picoseconds < 1000 * size else f"{picoseconds // size} {unit}"
    return f"{picoseconds} ps"


def amount(nbytes: int) -> str:
    """`64 KiB`"""
    for unit, size in (("GiB", 1 << 30), ("MiB", 1 << 20), ("KiB", 1 << 10)):
        if nbytes >= size:
            return f"{nbytes / size:.3g} {unit}"
    return f"{nbytes} B"


def ticks(start: int, end: int, most: int) -> list[int]:
    """Round instants between two, about so many."""
    length, decade = max(end - start, 1), 1
    while True:
        for step in (decade, 2 * decade, 5 * decade):
            if length // step < most:
                return list(range(-(-start // step) * step, end + 1, step))
        decade *= 10
