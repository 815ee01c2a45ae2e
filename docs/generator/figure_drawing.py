"""Drawings of a run, without a script: its time passes, its memory grows and shrinks, its ranks wait in a circle."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from html import escape
from math import cos, pi, sin
from typing import Final

from minitorch_dist.pictures import svg, words
from minitorch_dist.pictures.colours import PALETTE
from minitorch_dist.pictures.scene import Scene

SECONDS: Final = 9.0  # in which the time of a run passes
WIDE: Final = 760
MARGIN, TOP = 70, 40


def run(scene: Scene, title: str) -> str:
    return svg.draw(replace(scene, title=title, note=""), WIDE, seconds=SECONDS) + "\n"


def above(title: str, scenes: Mapping[str, Scene]) -> str:
    """Several runs under each other, on one scale of time."""
    lanes: list[str] = []
    joined = Scene(title, lanes, is_virtual=True)
    for name, scene in scenes.items():
        first = len(lanes)
        lanes += [f"{name}, {lane}" for lane in scene.lanes]
        joined.spans.extend(one._replace(lane=one.lane + first) for one in scene.spans)
        joined.arrows.extend(one._replace(source=one.source + first, to=one.to + first) for one in scene.arrows)
    return svg.draw(joined, WIDE, seconds=SECONDS) + "\n"


def curves(title: str, memory: Mapping[str, Sequence[tuple[int, int]]]) -> str:
    """Bytes over time, an area for each name, on one scale."""
    end = max(at for curve in memory.values() for at, _ in curve)
    most = max(held for curve in memory.values() for _, held in curve)
    tall = 90
    height = TOP + (tall + 26) * len(memory) + svg.BOTTOM

    def x(at: int) -> float:
        return MARGIN + at / max(end, 1) * (WIDE - MARGIN - 24)

    shapes, still = [], []
    for number, (name, curve) in enumerate(memory.items()):
        base = TOP + (tall + 26) * number + tall
        points = "".join(f"H{x(at):.1f}V{base - held / most * tall:.1f}" for at, held in curve)
        paint = PALETTE[number].hex
        shapes.append(f'<path d="M{x(0):.1f} {base}{points}H{x(end):.1f}V{base}Z" fill="{paint}" fill-opacity=".55"/>')
        peak = words.amount(max(held for _, held in curve))
        still.append(
            f'<text x="8" y="{base - tall + 12}">{escape(name)}</text><line class="rule" x1="{MARGIN}" x2="{WIDE - 24}" y1="{base}" y2="{base}"/>'
        )
        still.append(
            f'<text class="soft" x="{WIDE - 24}" y="{base - tall - 4}" text-anchor="end">at most {peak}</text>'
        )
    return element(title, WIDE, height, [*still, *svg.passing(shapes, x(0), x(end), height, SECONDS)])


def circle(title: str, waits: Sequence[tuple[int, int]], ranks: int) -> str:
    """Ranks in a circle, and an arrow from each to the one that it waits for; the last arrow closes it."""
    middle, radius, seconds = 190, 110, 1.2 * (len(waits) + 3)
    places = [
        (middle + radius * sin(2 * pi * r / ranks), middle - radius * cos(2 * pi * r / ranks)) for r in range(ranks)
    ]
    parts = [
        '<marker id="tip" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" markerHeight="7" orient="auto">'
        '<path d="M0 0L8 4L0 8Z" fill="#d55e00"/></marker>'
    ]
    for number, (one, other) in enumerate(waits):
        (x1, y1), (x2, y2) = places[one], places[other]
        share = 26 / max(((x2 - x1) ** 2 + (y2 - y1) ** 2) ** 0.5, 1)
        dx, dy = (x2 - x1) * share, (y2 - y1) * share
        begin = (number + 1) / (len(waits) + 3)
        parts.append(
            f'<line x1="{x1 + dx:.1f}" y1="{y1 + dy:.1f}" x2="{x2 - dx:.1f}" y2="{y2 - dy:.1f}" stroke="#d55e00" stroke-width="2.5" marker-end="url(#tip)">'
            f'<animate attributeName="opacity" values="0;1" keyTimes="0;{begin:.3f}" calcMode="discrete" dur="{seconds:g}s" repeatCount="indefinite"/></line>'
        )
    for rank, (x, y) in enumerate(places):
        parts.append(
            f'<circle class="wait" cx="{x:.1f}" cy="{y:.1f}" r="22"/><text x="{x:.1f}" y="{y + 4:.1f}" text-anchor="middle">rank {rank}</text>'
        )
    said = [f"rank {one} waits for rank {other}" for one, other in waits]
    parts += [f'<text x="{2 * middle + 20}" y="{middle - 30 + 24 * n}">{text}</text>' for n, text in enumerate(said)]
    return element(title, 2 * middle + 220, 2 * middle, parts)


def element(title: str, width: float, height: float, parts: Sequence[str]) -> str:
    return "\n".join([
        f'<svg class="mtd" xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:g} {height:g}" width="100%" '
        f'style="max-width:{width:g}px" role="img" aria-label="{escape(title)}">',
        f"<style>{svg.STYLE}</style>", f'<text x="8" y="20" font-weight="600">{escape(title)}</text>', *parts, "</svg>\n",
    ])  # fmt: skip
