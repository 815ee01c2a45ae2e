"""How far are plans from what was published? Half of the rows of `blind.toml` were never looked at while anything was fitted or tuned.

    row ──► `mtd plan MODEL --layout …` ──► tokens a second of each GPU ──► ours / published - 1

The name of a row decides on which side it stands: the first byte of its SHA-256 is odd where it is held back. A slope is that of a line through the
errors, over ten times as many parameters, or words of a sequence.
"""

from __future__ import annotations

import hashlib
import math
import tomllib
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from statistics import fmean, median
from typing import Any, Final, NamedTuple

from mtd.planning import clusters, layout_words, search
from mtd.planning.clusters import GpuCluster
from mtd.planning.layouts import TrainingLayout
from mtd.planning.model_files import ModelSizes
from mtd.planning.search import PlanRow

TABLE: Final = Path(__file__).with_name("blind.toml")
USUAL: Final = 64  # GPUs, unless all are asked for
NEAR: Final = 0.1
ALMOST: Final = 1.05  # of a device's memory


class BlindRow(NamedTuple):
    name: str
    model: str
    sequence: int
    device: str
    gpus: int
    net: str
    layout: str
    tokens: float  # a second, of each GPU

    @property
    def is_held_back(self) -> bool:
        return hashlib.sha256(self.name.encode()).digest()[0] % 2 == 1


class PredictedRow(NamedTuple):
    row: BlindRow
    parameters: int
    tokens: float
    held: float  # the share of its memory that the fullest GPU holds

    @property
    def error(self) -> float:
        return self.tokens / self.row.tokens - 1


@cache
def _table() -> dict[str, Any]:
    return tomllib.loads(TABLE.read_text(encoding="utf-8"))


def rows(most: int = USUAL) -> list[BlindRow]:
    """Those of at most so many GPUs."""
    found = [BlindRow(*row) for table in _table()["tables"] for row in table["rows"]]
    return [row for row in found if row.gpus <= most]


def question(row: BlindRow) -> tuple[ModelSizes, TrainingLayout, GpuCluster]:
    sizes = _table()["models"][row.model]
    given = ModelSizes(row.model, sequence=row.sequence, batch=1, **sizes)
    model, layout = layout_words.read(row.layout, given, row.gpus)
    return model, layout, clusters.cluster(row.device, row.gpus, row.net)


def simulated(row: BlindRow) -> PlanRow:
    return search.as_it_runs(*question(row))


def predicted(row: BlindRow, found: PlanRow) -> PredictedRow:
    model, _, here = question(row)
    room = here.device.memory or math.inf
    return PredictedRow(row, model.parameters, found.tokens(model), found.peak / room)


class Summary(NamedTuple):
    """The errors of some predictions, all as shares."""

    rows: int
    mean: float  # of their sizes
    median: float
    near: float  # the share of rows within 10 %
    by_size: float  # for ten times as many parameters
    by_length: float  # for sequences of ten times as many words
    too_full: int  # rows that are told to need over 5 % more memory than there is


def summary(found: Sequence[PredictedRow]) -> Summary:
    errors = [each.error for each in found]
    sizes = [abs(error) for error in errors]
    by_size = slope([math.log10(each.parameters) for each in found], errors)
    by_length = slope([math.log10(each.row.sequence) for each in found], errors)
    near, too_full = fmean(size <= NEAR for size in sizes), sum(each.held > ALMOST for each in found)
    return Summary(len(found), fmean(sizes), median(sizes), near, by_size, by_length, too_full)


def slope(x: Sequence[float], y: Sequence[float]) -> float:
    """Of the line of least squares; 0 where all x are one."""
    middle_x, middle_y = fmean(x), fmean(y)
    spread = sum((each - middle_x) ** 2 for each in x)
    return sum((a - middle_x) * (b - middle_y) for a, b in zip(x, y, strict=True)) / spread if spread else 0.0
