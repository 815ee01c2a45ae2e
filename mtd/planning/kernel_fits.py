"""The numbers of `devices.toml`, each from a published table of kernels.

    products     time = launch + FLOP / (peak · top) · (1 + half_area / (rows · columns) + half_depth / terms)
    attention    TFLOP/s = most · length / (length + half)
    copies       the share of the memory's rate that a large one reaches
    gathers      the share of the links' rate that a large one reaches

The first is linear in its four unknown numbers, for FLOP / area is twice the terms, and FLOP / terms twice the area. The second is a
line in 1 / length. So both are fits of least relative errors. Rows of training are in no table (`kernel_tables.toml`).
"""

from __future__ import annotations

import math
import tomllib
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from statistics import geometric_mean
from typing import Any, Final, NamedTuple

import numpy as np

SUSTAINED: Final = {"H100-SXM": 0.733}
"""Of a short product's speed, what is left through a whole step, where power limits the clock. No table of kernels tells it: this number was chosen on
the rows of `mtd.papers.blind` that may be looked at. An A100 has 1: tables alone tell its steps."""
TRITON: Final = 1.35
"""The speed of the kernel "1" beside FlashAttention as of 2022 in its tables. llm-foundry's steps ran a kernel in Triton, and no table of it was published.
So this was chosen on the same rows, for both chips."""
TABLES: Final = Path(__file__).with_name("kernel_tables.toml")


class ProductFit(NamedTuple):
    """Seconds of a launch, the share of the peak, and the sizes that halve it."""

    launch: float
    top: float
    half_area: float
    half_depth: float

    def seconds(self, row: Sequence[float], peak: float) -> float:
        batch, rows, columns, terms = row[:4]
        area = batch * rows * columns
        slower = 1 + self.half_area / area + self.half_depth / terms
        return self.launch + 2 * area * terms / (peak * self.top) * slower


@cache
def tables() -> dict[str, Any]:
    return tomllib.loads(TABLES.read_text(encoding="utf-8"))


def rows_of(kind: str, device: str, **more: Any) -> list[list[float]]:
    """The rows of the table that has these words."""
    wanted = {"device": device, **more}
    for table in tables()[kind]:
        if wanted.items() <= table.items():
            found: list[list[float]] = table["rows"]
            return found
    return []


def products(device: str, peak: float, dtype: str = "bfloat16", like: ProductFit | None = None) -> ProductFit:
    """Least relative errors; an unknown number that would be below 0 is 0. Where only few products were published, it is as much slower for
    small ones as a chip that it is `like`."""
    if like is not None:
        return _with_top(like, device, peak, dtype)
    rows = np.array(rows_of("products", device, dtype=dtype), float)
    area, terms = rows[:, :3].prod(1), rows[:, 3]
    flops = 2 * area * terms
    took = flops / (rows[:, 4] * 1e12)
    causes = np.stack([np.ones_like(flops), flops, flops / area, flops / terms], 1) / took[:, None]
    used = list(range(4))
    while True:
        found = np.linalg.lstsq(causes[:, used], np.ones(len(rows)), rcond=None)[0]
        if (found >= 0).all():
            break
        del used[int(np.argmin(found))]
    launch, per_flop, by_area, by_depth = (float(found[used.index(n)]) if n in used else 0.0 for n in range(4))
    return ProductFit(launch, 1 / (per_flop * peak), by_area / per_flop, by_depth / per_flop)


def _with_top(like: ProductFit, device: str, peak: float, dtype: str) -> ProductFit:
    """The geometric mean of the tops by which each row is right."""
    tops = []
    for row in rows_of("products", device, dtype=dtype):
        took = 2 * math.prod(row[:4]) / (row[4] * 1e12)
        tops.append(like._replace(top=1.0).seconds(row, peak) / took)
    return like._replace(top=geometric_mean(tops))


def attention(device: str, kernel: str, head: int) -> tuple[float, float]:
    """The most FLOP/s, and the length that halves them: 1 / speed is a line in 1 / length."""
    rows = np.array(rows_of("attention", device, kernel=kernel, head=head), float)
    speed = rows[:, 1] * 1e12
    causes = np.stack([speed, speed / rows[:, 0]], 1)
    inverse, slope = np.linalg.lstsq(causes, np.ones(len(rows)), rcond=None)[0]
    return float(1 / inverse), float(slope / inverse)


def largest(kind: str, device: str) -> float:
    """Bytes a second of the largest row of copies or gathers."""
    return max(rows_of(kind, device))[1] * 1e9
