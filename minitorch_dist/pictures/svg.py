"""The space-time diagram as SVG, for papers and notebooks: text that any browser draws.

Lanes run to the right; an arrow's slope is its latency, its thickness its bytes, its colour its
operation (or its group). Each shape has a title, so pointing at it says what it is. Colours follow the
reader's light or dark page.
"""

from __future__ import annotations

from html import escape
from math import log2
from typing import Final

from rich.cells import cell_len

from minitorch_dist.pictures import words
from minitorch_dist.pictures.colours import colours_of
from minitorch_dist.pictures.scene import COMPUTE, OPERATION, TRANSFER, WAIT, Arrow, LaneSpan, Scene

MOST: Final = 5000  # arrows
MARGIN, TOP, BOTTOM = 64, 34, 30
LETTER: Final = 8  # of a lane's name, about
STYLE: Final = """
.mtd{--ink:#1f2328;--soft:#8a919a;--rule:#d5d9de;--back:#fff;--wait:#e3e6ea;--coming:#b9c3cf;--compute:#5f6b7a;
font:12px system-ui,sans-serif;background:var(--back);color:var(--ink)}
@media(prefers-color-scheme:dark){.mtd{--ink:#e6e8eb;--soft:#8f97a1;--rule:#353b43;--back:#14171a;
--wait:#2b3138;--coming:#4c5866;--compute:#a9b4c1}}
.mtd text{fill:var(--ink)}.mtd .soft{fill:var(--soft)}.mtd .rule{stroke:var(--rule)}
.mtd .wait{fill:var(--wait)}.mtd .transfer{fill:var(--coming)}.mtd .compute{fill:var(--compute)}
.mtd .gone{stroke:var(--ink);stroke-dasharray:4 3}.mtd .failed{stroke:#d55e00;stroke-width:2}
"""


def draw(scene: Scene, width: int = 900, by: str = "operation", ranks: int = 64, seconds: float = 0) -> str:
    """A complete SVG element. `by`: what colours tell apart, "operation" or "group". With `seconds` the run's time
    passes in so many, without a script; a reader without animations sees all of it."""
    shown = min(len(scene.lanes), ranks)
    pitch = 52 if shown <= 8 else 36 if shown <= 16 else 22
    names = scene.names if by == "operation" else scene.groups
    plan = _Plan(scene, width, shown, pitch, by, names)
    legend, rows = plan.legend()
    height = TOP + 18 * rows + shown * pitch + BOTTOM
    plan.top = TOP + 18 * rows
    notes = [scene.note] if scene.note else []
    if shown < len(scene.lanes):
        notes.append(f"{len(scene.lanes) - shown} more lanes are not drawn.")
    if len(scene.arrows) > MOST:
        notes.append(f"The first {MOST} of {len(scene.arrows)} messages are drawn.")
    parts = [
        f'<svg class="mtd" xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height + 16 * len(notes)}" '
        f'width="100%" style="max-width:{width}px" role="img" aria-label="{escape(scene.title)}">',
        f"<style>{STYLE}</style>",
        f'<text x="8" y="20" font-weight="600">{escape(scene.title)}</text>',
        legend,
        *plan.lanes(),
        *passing([*plan.spans(), *plan.arrows()], plan.x(scene.start), plan.x(scene.end), height, seconds),
        *plan.ruler(),
        *(
            f'<text class="soft" x="8" y="{height + 16 * line}">{escape(note)}</text>'
            for line, note in enumerate(notes)
        ),
        "</svg>",
    ]
    return "\n".join(part for part in parts if part)


def passing(shapes: list[str], first: float, last: float, height: float, seconds: float) -> list[str]:
    """The shapes between two instants, of which only those are seen that have happened by now. A line marks it."""
    if not seconds:
        return shapes
    left, wide = first - 8, last - first + 24
    times = f'keyTimes="0;.8;1" dur="{seconds:g}s" repeatCount="indefinite"'
    return [
        f'<clipPath id="past"><rect x="{left:.1f}" y="0" width="{wide:.1f}" height="{height}">'
        f'<animate attributeName="width" values="8;{wide:.1f};{wide:.1f}" {times}/></rect></clipPath>',
        '<g clip-path="url(#past)">',
        *shapes,
        "</g>",
        f'<line class="rule" x1="{left + wide:.1f}" x2="{left + wide:.1f}" y1="{TOP}" y2="{height - BOTTOM}">'
        f'<animateTransform attributeName="transform" type="translate" values="{8 - wide:.1f} 0;0 0;0 0" {times}/></line>',
    ]


def thickness(nbytes: int) -> float:
    """1 for nothing, and half more for each factor of four, at most 7."""
    return min(1 + max(log2(max(nbytes, 0) + 1) - 6, 0) / 4, 7)


class _Plan:
    """Where things are."""

    def __init__(self, scene: Scene, width: int, shown: int, pitch: int, by: str, names: list[str]) -> None:
        self.scene, self.width, self.shown, self.pitch, self.by = scene, width, shown, pitch, by
        self.colours = colours_of(names)
        self.names = names
        self.start, self.length = scene.start, max(scene.end - scene.start, 1)
        self.top = TOP
        longest = max((cell_len(name) for name in scene.lanes[:shown]), default=0)
        self.margin = max(MARGIN, min(16 + LETTER * longest, width // 3))

    def x(self, at: int) -> float:
        return self.margin + (at - self.start) / self.length * (self.width - self.margin - 24)

    def y(self, lane: int) -> float:
        return self.top + (lane + 0.5) * self.pitch

    def colour(self, thing: LaneSpan | Arrow) -> str:
        name = thing.name if self.by == "operation" else thing.group
        return self.colours[name].hex if name in self.colours else "var(--compute)"

    def legend(self) -> tuple[str, int]:
        """The legend of the colours, and how many rows it takes."""
        marks = [*((self.colours[name].hex, "", name) for name in self.names)]
        kinds = {span.kind for span in self.scene.spans}
        marks += [
            ("", kind, text)
            for kind, text in ((COMPUTE, "computes"), (TRANSFER, "its message is on its way"), (WAIT, "waits"))
            if kind in kinds
        ]
        x, row, parts = 8.0, 0, []
        for colour, kind, name in marks:
            long = 24 + 6.6 * len(name)
            if x + long > self.width - 8:
                x, row = 8.0, row + 1
            paint = f'fill="{colour}"' if colour else f'class="{kind}"'
            y = TOP + 18 * row
            parts.append(f'<rect x="{x:.0f}" y="{y}" width="10" height="10" rx="2" {paint}/>')
            parts.append(f'<text class="soft" x="{x + 15:.0f}" y="{y + 9}">{escape(name)}</text>')
            x += long
        return "".join(parts), row + 1 if marks else 0

    def lanes(self) -> list[str]:
        right = self.width - 24
        return [
            f'<line class="rule" x1="{self.margin}" x2="{right}" y1="{self.y(lane):.1f}" y2="{self.y(lane):.1f}"/>'
            f'<text x="8" y="{self.y(lane) + 4:.1f}">{escape(self.scene.lanes[lane])}</text>'
            for lane in range(self.shown)
        ]

    def spans(self) -> list[str]:
        high = min(12, self.pitch * 0.3)
        order = {OPERATION: 0, WAIT: 1, TRANSFER: 1, COMPUTE: 2}
        parts = []
        for span in sorted(self.scene.spans, key=lambda span: order[span.kind]):
            if span.lane >= self.shown:
                continue
            left = self.x(span.start)
            wide = max(self.x(span.end) - left, 0.8)
            if span.kind == OPERATION:
                tall, paint = (high, f'fill="{self.colour(span)}" fill-opacity=".45"' + ' class="failed"' * span.failed)
                if span.is_beside:
                    paint += ' stroke="currentColor" stroke-opacity=".5" stroke-dasharray="3 2"'
            else:
                tall, paint = high * 0.55, f'class="{span.kind} {"failed" * span.failed}"'
            y = self.y(span.lane) - tall / 2 + (high * 0.8 if span.is_beside else 0)
            parts.append(
                f'<rect x="{left:.2f}" y="{y:.1f}" width="{wide:.2f}" height="{tall:.1f}" rx="1.5" '
                f"{paint}><title>{escape(span.text)}</title></rect>"
            )
        return parts

    def arrows(self) -> list[str]:
        parts = []
        for arrow in self.scene.arrows[:MOST]:
            if max(arrow.source, arrow.to) >= self.shown:
                continue
            x1, x2 = self.x(arrow.departed), self.x(arrow.arrived)
            y1, y2 = self.y(arrow.source), self.y(arrow.to)
            colour, thick = self.colour(arrow), thickness(arrow.nbytes)
            if arrow.source == arrow.to:  # to oneself: a small arc
                path = f"M{x1:.2f} {y1:.1f}C{x1:.2f} {y1 - 16:.1f} {x2:.2f} {y2 - 16:.1f} {x2:.2f} {y2:.1f}"
            else:
                path = f"M{x1:.2f} {y1:.1f}L{x2:.2f} {y2:.1f}"
            lost = "" if arrow.is_received else ' class="gone"'
            took = words.span(arrow.arrived - arrow.departed)
            said = f"{arrow.text}, {took} on its way" if arrow.is_received else f"{arrow.text}: never received"
            parts.append(
                f'<g><title>{escape(said)}</title><path d="{path}" fill="none" stroke="{colour}" '
                f'stroke-width="{thick:.1f}" stroke-linecap="round"{lost}/>'
                f'<circle cx="{x2:.2f}" cy="{y2:.1f}" r="{thick / 2 + 1.4:.1f}" fill="{colour}"/></g>'
            )
        return parts

    def ruler(self) -> list[str]:
        y = self.top + self.shown * self.pitch
        parts = []
        for tick in words.ticks(0, self.length, max(self.width // 110, 2)):
            x = self.x(self.start + tick)
            anchor = "end" if x > self.width - 60 else "middle"
            parts.append(
                f'<line class="rule" x1="{x:.1f}" x2="{x:.1f}" y1="{y - 4}" y2="{y + 2}"/>'
                f'<text class="soft" x="{x:.1f}" y="{y + 16}" text-anchor="{anchor}">'
                f"{words.span(tick) if tick else '0'}</text>"
            )
        return parts
