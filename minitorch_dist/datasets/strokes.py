"""How the ten digits are written: pen strokes in a unit square (x to the right, y down).

A style is a list of strokes, a stroke a list of points that the pen visits. `pen` walks along them
at an even pace, so that every digit of every style becomes the same number of points.
"""

from __future__ import annotations

from math import cos, pi, sin
from typing import Any, TypeAlias

import numpy as np

Array: TypeAlias = "np.ndarray[Any, Any]"
Point: TypeAlias = "tuple[float, float]"
Stroke: TypeAlias = "list[Point]"


def arc(x: float, y: float, rx: float, ry: float, start: float, end: float) -> Stroke:
    """Part of an ellipse around (x, y); angles in degrees, 0 = right, 90 = down."""
    steps = max(2, int(abs(end - start) / 15))
    angles = [(start + (end - start) * i / steps) * pi / 180 for i in range(steps + 1)]
    return [(x + rx * cos(a), y + ry * sin(a)) for a in angles]


STYLES: dict[int, list[list[Stroke]]] = {
    0: [
        [arc(0.50, 0.50, 0.28, 0.40, -90, 270)],
        [arc(0.50, 0.50, 0.20, 0.40, -60, 300)],
        [arc(0.50, 0.50, 0.34, 0.36, -120, 240)],
    ],
    1: [
        [[(0.50, 0.10), (0.50, 0.90)]],
        [[(0.36, 0.26), (0.54, 0.10), (0.54, 0.90)]],
        [[(0.34, 0.28), (0.52, 0.10), (0.52, 0.90)], [(0.32, 0.90), (0.72, 0.90)]],
    ],
    2: [
        [[*arc(0.50, 0.32, 0.26, 0.22, -170, 40), (0.22, 0.88), (0.80, 0.88)]],
        [[*arc(0.50, 0.30, 0.24, 0.20, -150, 60), *arc(0.32, 0.82, 0.12, 0.09, 60, 330), (0.60, 0.88), (0.82, 0.80)]],
        [[*arc(0.48, 0.34, 0.28, 0.24, -180, 30), (0.26, 0.86), (0.78, 0.90)]],
    ],
    3: [
        [[*arc(0.48, 0.30, 0.24, 0.20, -160, 80), *arc(0.48, 0.70, 0.28, 0.20, -80, 160)]],
        [[(0.24, 0.12), (0.74, 0.12), (0.46, 0.44), *arc(0.48, 0.68, 0.26, 0.23, -80, 150)]],
        [[*arc(0.46, 0.31, 0.26, 0.19, -140, 90), *arc(0.44, 0.70, 0.32, 0.20, -90, 140)]],
    ],
    4: [
        [[(0.62, 0.10), (0.20, 0.62), (0.82, 0.62)], [(0.64, 0.40), (0.64, 0.92)]],
        [[(0.28, 0.12), (0.24, 0.54), (0.76, 0.54)], [(0.72, 0.12), (0.70, 0.92)]],
        [[(0.60, 0.92), (0.60, 0.08), (0.18, 0.66), (0.82, 0.66)]],
    ],
    5: [
        [[(0.74, 0.12), (0.32, 0.12), (0.28, 0.46), *arc(0.48, 0.66, 0.27, 0.23, -120, 150)]],
        [[(0.30, 0.12), (0.28, 0.48), *arc(0.46, 0.68, 0.30, 0.21, -110, 140)], [(0.30, 0.12), (0.76, 0.10)]],
        [[(0.70, 0.10), (0.36, 0.14), (0.30, 0.44), *arc(0.44, 0.66, 0.32, 0.24, -100, 130)]],
    ],
    6: [
        [[(0.66, 0.10), *arc(0.56, 0.56, 0.32, 0.36, -120, -200), *arc(0.50, 0.68, 0.24, 0.22, 180, -180)]],
        [[(0.46, 0.08), (0.30, 0.44), *arc(0.50, 0.68, 0.23, 0.21, 200, -170)]],
        [[*arc(0.60, 0.50, 0.36, 0.40, -80, -190), *arc(0.48, 0.70, 0.23, 0.19, 170, -190)]],
    ],
    7: [
        [[(0.20, 0.12), (0.80, 0.12), (0.42, 0.90)]],
        [[(0.20, 0.14), (0.78, 0.12), (0.46, 0.90)], [(0.34, 0.52), (0.74, 0.50)]],
        [[(0.22, 0.22), (0.24, 0.12), (0.76, 0.14), *arc(0.90, 0.90, 0.38, 0.66, -120, -180)]],
    ],
    8: [
        [arc(0.50, 0.30, 0.20, 0.19, 90, 450), arc(0.50, 0.70, 0.25, 0.21, -90, 270)],
        [
            [
                (0.70, 0.18),
                *arc(0.48, 0.28, 0.20, 0.17, -60, -230),
                (0.62, 0.58),
                *arc(0.50, 0.72, 0.22, 0.18, -30, 200),
                (0.40, 0.52),
                (0.70, 0.22),
            ]
        ],
    ],
    9: [
        [arc(0.48, 0.32, 0.23, 0.22, 0, -360), [(0.71, 0.32), (0.68, 0.64), (0.60, 0.92)]],
        [[*arc(0.50, 0.32, 0.22, 0.22, 20, -340), (0.70, 0.92)]],
        [arc(0.48, 0.30, 0.22, 0.20, 0, -360), [(0.70, 0.30), *arc(0.44, 0.68, 0.27, 0.22, -20, 130)]],
    ],
}


def pen(strokes: list[Stroke], points: int) -> Array:
    """`points` places along the strokes, evenly spaced, as an array (points, 2)."""
    pieces = [np.asarray(s, dtype=np.float64) for s in strokes]
    lengths = [np.hypot(*np.diff(p, axis=0).T).sum() for p in pieces]
    share = np.maximum(2, np.round(points * np.array(lengths) / sum(lengths)).astype(int))
    share[np.argmax(share)] += points - share.sum()
    walked = []
    for piece, count in zip(pieces, share, strict=True):
        along = np.concatenate([[0.0], np.cumsum(np.hypot(*np.diff(piece, axis=0).T))])
        at = np.linspace(0.0, along[-1], count)
        walked.append(np.stack([np.interp(at, along, piece[:, i]) for i in (0, 1)], axis=1))
    return np.concatenate(walked)
