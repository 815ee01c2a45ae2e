"""Digits that nobody wrote: pen strokes, warped at random, inked on a 28×28 grid.

    strokes ── warp, shear, turn, stretch, shift ── ink ── bytes

The ink needs no loop over pixels. Each point of the pen spreads a little Gaussian, and a Gaussian
in the plane is one along x times one along y. So the ink of all points together,

    ink[row, column] = sum over points of  gy[point, row] · gx[point, column]

is a matrix product, and `1 - exp(-ink)` lets it saturate as ink does. 60,000 digits take seconds.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from minitorch_dist.datasets.mnist import ImageDataset
from minitorch_dist.datasets.strokes import STYLES, pen
from minitorch_dist.tensors.generator import Generator
from minitorch_dist.tensors.makers.random import rand, randint, randn

Array = np.ndarray[Any, Any]

SIDE = 28
_POINTS = 56
_GLYPHS = [[pen(style, _POINTS) for style in STYLES[digit]] for digit in range(10)]


class SyntheticDigits(ImageDataset):
    """A stand-in for MNIST of the same shape: 60,000 images to train on, 10,000 to test.

    The same `seed` draws the same digits on every machine, up to the last grey level (which hangs
    on how a CPU rounds `exp`). Train and test never share a digit.
    """

    def __init__(
        self,
        train: bool = True,
        size: int | None = None,
        seed: int = 0,
        transform: Callable[[Any], Any] | None = None,
        target_transform: Callable[[Any], Any] | None = None,
    ) -> None:
        self.train, self.seed = train, seed
        count = size if size is not None else (60_000 if train else 10_000)
        if count < 0:
            raise ValueError(f"size must not be negative, got {count}")
        generator = Generator().manual_seed(2 * seed + (not train))
        batches = [draw(min(4096, count - i), generator) for i in range(0, count, 4096)]
        images = np.concatenate([b[0] for b in batches] or [np.zeros((0, SIDE, SIDE), np.uint8)])
        labels = np.concatenate([b[1] for b in batches] or [np.zeros(0, np.int64)])
        super().__init__(images, labels, transform, target_transform)

    def __repr__(self) -> str:
        part = "Train" if self.train else "Test"
        return (
            f"Dataset SyntheticDigits\n    Number of datapoints: {len(self)}\n    Seed: {self.seed}\n    Split: {part}"
        )


def draw(count: int, generator: Generator) -> tuple[Array, Array]:
    """`count` images (count, 28, 28) of bytes, and which digit each of them is."""

    def uniform(low: float, high: float, *shape: int) -> Array:
        unit: Array = rand(count, *shape, generator=generator).array
        return unit * np.float32(high - low) + np.float32(low)

    def normal(std: float, *shape: int) -> Array:
        unit: Array = randn(count, *shape, generator=generator).array
        return unit * np.float32(std)

    labels = randint(0, 10, (count,), generator=generator).array
    choice = uniform(0, 1)
    points = np.stack([_GLYPHS[d][int(c * len(_GLYPHS[d]))] for d, c in zip(labels, choice, strict=True)]).astype(
        np.float32
    ) - np.float32(0.5)

    x, y = points[..., 0].copy(), points[..., 1].copy()
    for axis in (0, 1):  # a slow wave along the stroke bends it
        for along, strength in ((y, 0.045), (x, 0.04)):
            wave = np.sin(4 * along + uniform(0, 2 * np.pi, 1))
            points[..., axis] += normal(strength, 1) * wave

    turn, slant = normal(0.16), normal(0.2)
    wide, tall = uniform(0.75, 1.1), uniform(0.8, 1.1)
    cos, sin = np.cos(turn), np.sin(turn)
    matrix = np.stack([cos * wide, -sin * tall - slant * cos * tall, sin * wide, cos * tall], 1)
    points = points @ matrix.reshape(count, 2, 2).transpose(0, 2, 1)
    pixels = (points + uniform(-0.07, 0.07, 1, 2) + np.float32(0.5)) * 20 + np.float32(3.5)

    thickness = uniform(0.55, 1.0, 1, 1, 1)
    grid = np.arange(SIDE, dtype=np.float32)
    spread = np.exp(-(((pixels[..., None] - grid) / thickness) ** 2) / 2)
    ink = spread[:, :, 1].transpose(0, 2, 1) @ spread[:, :, 0]
    grey = 1 - np.exp(-np.float32(1.6) * ink)
    noise = uniform(0, 1, SIDE, SIDE)
    return (grey * 255 + noise).clip(0, 255).astype(np.uint8), labels
