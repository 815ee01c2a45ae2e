"""Points in the plane that a straight line cannot part: spirals and moons."""

from __future__ import annotations

from math import pi

import numpy as np

from minitorch_dist.tensors.generator import Generator
from minitorch_dist.tensors.makers.creation import from_numpy
from minitorch_dist.tensors.makers.random import rand, randn
from minitorch_dist.tensors.tensor import Tensor


def spirals(
    size: int = 600, arms: int = 3, noise: float = 0.1, turns: float = 0.75, seed: int = 0
) -> tuple[Tensor, Tensor]:
    """Points (size, 2) on `arms` spirals around the origin, and the arm of each (int64)."""
    if size < 0 or arms < 1:
        raise ValueError(f"size must be >= 0 and arms >= 1, got size={size}, arms={arms}")
    generator = Generator().manual_seed(seed)
    label = np.arange(size) % arms
    radius = 0.05 + 0.95 * rand(size, generator=generator).array
    angle = 2 * pi * (label / arms + turns * radius)
    angle = angle + noise * randn(size, generator=generator).array
    points = np.stack([radius * np.cos(angle), radius * np.sin(angle)], 1)
    return from_numpy(points.astype(np.float32)), from_numpy(label.astype(np.int64))


def moons(size: int = 500, noise: float = 0.1, seed: int = 0) -> tuple[Tensor, Tensor]:
    """Points (size, 2) on two half circles that reach into each other, and which one (int64)."""
    if size < 0:
        raise ValueError(f"size must be >= 0, got {size}")
    generator = Generator().manual_seed(seed)
    label = np.arange(size) % 2
    angle = pi * rand(size, generator=generator).array
    upper = np.stack([np.cos(angle), np.sin(angle)], 1)
    lower = np.stack([1 - np.cos(angle), 0.5 - np.sin(angle)], 1)
    points = np.where(label[:, None] == 0, upper, lower)
    points = points + noise * randn(size, 2, generator=generator).array
    return from_numpy(points.astype(np.float32)), from_numpy(label.astype(np.int64))
