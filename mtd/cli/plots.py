"""Pictures in plain text: a curve and grey images, drawn with braille dots (2×4 dots a character)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

Array = np.ndarray[Any, Any]

# The bit of each dot of a braille character, by row and column.
_DOTS = np.array([[0x01, 0x08], [0x02, 0x10], [0x04, 0x20], [0x40, 0x80]])


def braille(dots: Array) -> list[str]:
    """Lines of text that show a boolean array, one dot per element."""
    high, wide = dots.shape
    padded = np.zeros((-(-high // 4) * 4, -(-wide // 2) * 2), bool)
    padded[:high, :wide] = dots
    cells = padded.reshape(padded.shape[0] // 4, 4, padded.shape[1] // 2, 2).transpose(0, 2, 1, 3)
    codes = (cells * _DOTS).sum((2, 3)) + 0x2800
    return ["".join(map(chr, row)) for row in codes]


def image(pixels: Array, threshold: int = 96, border: int = 2) -> list[str]:
    """A grey image (bytes) without its border, as braille: 28×28 become 6 lines of 12 characters."""
    inner = slice(border, -border or None)
    return braille(pixels[inner, inner] >= threshold)


def side_by_side(blocks: Sequence[Sequence[str]], gap: str = "  ") -> list[str]:
    """Blocks of equal height, next to each other."""
    return [gap.join(row) for row in zip(*blocks, strict=True)]


def curve(values: Sequence[float], width: int = 60, height: int = 8, label: str = "") -> list[str]:
    """A line through `values`, with the scale on the left and the label above."""
    if not values:
        return [f"{label}: no values"]
    data = np.asarray(values, dtype=np.float64)
    columns, rows = 2 * width, 4 * height
    at = np.linspace(0, len(data) - 1, columns)
    line = np.interp(at, np.arange(len(data)), data)
    low, high = float(line.min()), float(line.max())
    scale = (rows - 1) / (high - low) if high > low else 0.0
    level = np.round((high - line) * scale).astype(int)
    dots = np.zeros((rows, columns), bool)
    for column in range(columns):  # join neighbours, so that steep pieces stay connected
        previous = level[max(column - 1, 0)]
        first, last = sorted((int(previous), int(level[column])))
        dots[first : last + 1, column] = True
    lines = braille(dots)
    margin = {0: f"{high:.3g}", height - 1: f"{low:.3g}"}
    pad = max(len(text) for text in margin.values())
    drawn = [f"{margin.get(i, ''):>{pad}} {text}" for i, text in enumerate(lines)]
    return ([f"{'':>{pad}} {label}"] if label else []) + drawn
