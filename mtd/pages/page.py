"""A run as one HTML file that opens from the disk: SVG, and a few KB of our own script (`page.js`).

    python ──► the scene as JSON, strings once ──┐
    page.css, page.js ───────────────────────────┴─► run.html: nothing else is ever loaded

Zoom, play, step both ways, point at things, filter by rank and group; two runs side by side, with the
place marked where they first part.
"""

from __future__ import annotations

from html import escape
from typing import Any, Final, NamedTuple

from minitorch_dist.pictures.colours import PALETTE
from minitorch_dist.pictures.scene import Scene
from mtd.pages import html_files

MOST: Final = 100_000  # messages and spans of a run
MOST_LANES: Final = 10_000  # each has a row, and a box to choose it by
KINDS: Final = ("operation", "compute", "wait", "transfer")


class Parting(NamedTuple):
    """Where two runs part: the number of a moment in each (None: it has no more), and in words."""

    one: int | None
    other: int | None
    text: str


def draw(scene: Scene, other: Scene | None = None, parting: Parting | None = None) -> str:
    """The page as text."""
    strings: dict[str, int] = {}  # each text once; things name it by its number
    data: dict[str, Any] = {
        "runs": [_run(each, strings) for each in (scene, other) if each is not None],
        "palette": [colour.hex for colour in PALETTE],
        "dark": [colour.dark for colour in PALETTE],
        "parting": None if parting is None else [parting.one, parting.other, parting.text],
        "strings": [*strings],
    }
    return html_files.filled("mtd.pages", "page", data, title=escape(scene.title))


def _run(scene: Scene, strings: dict[str, int]) -> dict[str, Any]:
    def number(text: str) -> int:
        return strings.setdefault(text, len(strings))

    scene = scene.first_lanes(MOST_LANES)
    note = scene.note
    if len(scene.arrows) > MOST or len(scene.spans) > MOST:
        note = f"The first {MOST} of {len(scene.arrows)} messages are in this file. {note}".rstrip()
    return {
        "title": scene.title, "lanes": list(scene.lanes), "note": note, "virtual": scene.is_virtual,
        "start": scene.start, "end": scene.end,
        "spans": [
            [s.lane, s.start, s.end, KINDS.index(s.kind), number(s.name), number(s.group),
             number(s.text), int(s.is_beside), int(s.failed), s.number]
            for s in scene.spans[:MOST]
        ],
        "arrows": [
            [a.source, a.to, a.departed, a.arrived, a.nbytes, number(a.name), number(a.group),
             number(a.text), int(a.is_received), a.number]
            for a in scene.arrows[:MOST]
        ],
        "moments": [[m.at, m.lane, number(m.text), m.number] for m in scene.moments],
        "memory": {str(lane): held for lane, held in scene.memory.items()},
        "memoryIs": scene.memory_is,
    }  # fmt: skip
