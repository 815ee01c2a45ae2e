"""The timelines of several worlds on one page, one below the other, as SVG.

    simulator   rank 0 ▬▬╲▬▬╱▬▬      virtual time
                rank 1 ▬▬╱▬▬╲▬▬
    tcp         rank 0 ▬╲▬▬▬▬╱▬      the same messages, at other times
                rank 1 ▬╱▬▬▬▬╲▬

Each has a time axis of its own, as wide as the page. Where nothing was recorded there is a mark for each step.
"""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

from minitorch_dist.pictures import words
from minitorch_dist.pictures.scene import COMPUTE, OPERATION, Scene
from mtd.course.worlds import Lived
from mtd.pages.html_files import text_of

WIDTH, LEFT, RIGHT = 960, 150, 12
PITCH, GAP, TOP = 22, 22, 10  # between ranks, between worlds
MOST = 4000  # messages of a world


def draw(found: Sequence[Lived]) -> str:
    """A complete SVG element."""
    parts, y = list[str](), TOP
    for lived in found:
        ranks = max(lived.ranks, 1)
        parts += _band(lived, y)
        y += ranks * PITCH + GAP
    names = ", ".join(lived.name for lived in found)
    begin = (
        f'<svg class="worlds" xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {y}" width="100%" role="img" '
        f'aria-label="Timelines of {escape(names)}">'
    )
    return "\n".join([begin, f"<style>\n{text_of('mtd.course', 'timelines.css')}</style>", *parts, "</svg>"])


def _band(lived: Lived, top: int) -> list[str]:
    scene = None if lived.journal is None else lived.journal.scene()
    ranks = max(lived.ranks, 1)
    parts = [f'<text x="0" y="{top + 15}" font-weight="600">{escape(lived.name)}</text>']
    for lane in range(ranks):
        y = top + (lane + 0.5) * PITCH
        parts.append(f'<line class="rule" x1="{LEFT}" x2="{WIDTH - RIGHT}" y1="{y}" y2="{y}"/>')
        if not lived.skipped:
            parts.append(f'<text class="soft" x="{LEFT - 8}" y="{y + 4}" text-anchor="end">rank {lane}</text>')
    parts += _steps(lived, top) if scene is None else _what_happened(scene, top, ranks)
    return parts


def _steps(lived: Lived, top: int) -> list[str]:
    """Nothing was recorded: a mark for each step, or why there is none."""
    if lived.skipped:
        return [f'<text class="soft" x="{LEFT}" y="{top + 12}">not tried: {escape(lived.skipped)}</text>']
    steps = max(len(lived.losses), 1)
    wide = (WIDTH - RIGHT - LEFT) / steps
    marks = [
        f'<rect class="comp" x="{LEFT + step * wide + wide * 0.15:.1f}" y="{top + lane * PITCH + PITCH / 2 - 3:.1f}" '
        f'width="{wide * 0.7:.2f}" height="6" rx="1"/>'
        for lane in range(lived.ranks)
        for step in range(steps)
    ]
    said = f"{steps} steps" + (", no messages" if lived.ranks == 1 else "; its messages are its own")
    y = top + lived.ranks * PITCH + 8
    return [*marks, f'<text class="soft" x="{LEFT}" y="{y}">{said}</text>']


def _what_happened(scene: Scene, top: int, ranks: int) -> list[str]:
    start, length = scene.start, max(scene.end - scene.start, 1)

    def x(at: int) -> float:
        return LEFT + (at - start) / length * (WIDTH - RIGHT - LEFT)

    def y(lane: int) -> float:
        return top + (lane + 0.5) * PITCH

    parts = []
    for span in scene.spans:
        if span.kind not in (OPERATION, COMPUTE) or span.lane >= ranks:
            continue
        kind = "failed" if span.failed else "op" if span.kind == OPERATION else "comp"
        wide = max(x(span.end) - x(span.start), 0.6)
        parts.append(
            f'<rect class="{kind}" x="{x(span.start):.2f}" y="{y(span.lane) - 4:.1f}" width="{wide:.2f}" height="8">'
            f"<title>{escape(span.text)}</title></rect>"
        )
    lines = " ".join(
        f"M{x(arrow.departed):.1f} {y(arrow.source):.0f}L{x(arrow.arrived):.1f} {y(arrow.to):.0f}"
        for arrow in scene.arrows[:MOST]
        if arrow.is_received and max(arrow.source, arrow.to) < ranks
    )
    parts.append(f'<path class="line" d="{lines}"/>')
    parts.append(f'<text class="soft" x="{LEFT}" y="{top + ranks * PITCH + 8}">{_messages(scene)}</text>')
    return parts


def _messages(scene: Scene) -> str:
    length = words.span(max(scene.end - scene.start, 1))
    return f"{len(scene.arrows)} messages in {length} of {'virtual' if scene.is_virtual else 'real'} time"


def drawn(found: Sequence[Lived], width: int = 78) -> str:
    """The same for a terminal: ━ a collective, ✗ one that failed, ● messages come or go."""
    lines = []
    columns = width - 18
    for lived in found:
        scene = None if lived.journal is None else lived.journal.scene()
        for lane in range(max(lived.ranks, 1)):
            name = lived.name if lane == 0 else ""
            row = "█ " * (columns // 2) if scene is None else _row(scene, lane, columns)
            lines.append(f"{name:<10} rank {lane}  {row}".rstrip())
        said = f"{len(lived.losses)} steps" if scene is None else _messages(scene)
        lines += [f"{'':18}{said}", ""]
    return "\n".join(lines).rstrip()


def _row(scene: Scene, lane: int, columns: int) -> str:
    start, length = scene.start, max(scene.end - scene.start, 1)

    def place(at: int) -> int:
        return min((at - start) * columns // length, columns - 1)

    row = ["·"] * columns
    for span in scene.spans:
        if span.lane == lane and span.kind == OPERATION:
            for column in range(place(span.start), place(span.end) + 1):
                row[column] = "✗" if span.failed else "━"
    for arrow in scene.arrows:
        for rank, at in ((arrow.source, arrow.departed), (arrow.to, arrow.arrived)):
            if arrow.is_received and rank == lane:
                row[place(at)] = "●"
    return "".join(row)
