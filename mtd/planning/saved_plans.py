"""Plans in files, as `mtd plan --json` writes them; and the difference of two."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, NamedTuple

from minitorch_dist.sim.device import NOT_FITTED
from mtd.pages import kept_file
from mtd.planning import reasons, search
from mtd.planning.clusters import GpuCluster
from mtd.planning.layouts import TrainingLayout
from mtd.planning.model_files import ModelSizes
from mtd.planning.pruning import Candidate
from mtd.planning.reasons import Failures
from mtd.planning.search import PlanRow
from transports.plain_text import clean

GIB: Final = 1 << 30
SHOWN: Final = 10  # layouts
START: Final = 4096  # bytes of a file that tell whether it is a plan


@dataclass(frozen=True)
class SavedPlan:
    model: str
    cluster: str  # in words
    rows: tuple[PlanRow, ...]  # the fastest that fits comes first
    is_fitted: bool = True  # whether the device's efficiency was measured by somebody

    @property
    def first(self) -> PlanRow:
        return self.rows[0]


class MovedLayout(NamedTuple):
    """A layout that is in two plans."""

    before: PlanRow
    after: PlanRow

    @property
    def change(self) -> float:
        """By which part of the seconds before it became slower."""
        return self.after.seconds / self.before.seconds - 1

    @property
    def part(self) -> tuple[str, float]:
        """The part of the step that changed most, and by how many seconds."""
        return max(reasons.grown(self.after, self.before), key=lambda part: abs(part[1]))


class FoundPlan(NamedTuple):
    """A plan just made, for a table, a page or a file."""

    model: ModelSizes
    cluster: GpuCluster
    rows: list[PlanRow]  # those that fit come first, and the fastest of them
    rest: list[Candidate]  # nobody has simulated them
    refused: int  # layouts that do not fit by the formula

    @property
    def shown(self) -> list[tuple[int, PlanRow]]:
        """By place."""
        return list(enumerate(self.rows[:SHOWN], 1))

    @property
    def others(self) -> list[tuple[int, Candidate]]:
        """The best of the rest, as far as there is place for them."""
        count = max(0, SHOWN - len(self.rows))
        found = sorted(self.rest, key=lambda each: each.least)[:count]
        return list(enumerate(found, len(self.rows) + 1))

    def as_json(self, failures: Failures | None) -> dict[str, Any]:
        return {
            "format": search.FORMAT,
            "model": self.model.name,
            "cluster": self.cluster.key(),
            "failures": None if failures is None else failures._asdict(),
            "layouts": [self._with_rates(row) for row in self.rows],
            "others": [{"layout": one.as_dict(), "at_least": least} for one, least in self.rest],
        }

    def _with_rates(self, row: PlanRow) -> dict[str, Any]:
        rates = {"tokens": row.tokens(self.model), "mfu": row.mfu(self.model, self.cluster)}
        return {**row.as_dict(), **rates, "bubble": row.bubble}

    def saved(self) -> SavedPlan:
        cluster = cluster_in_words(self.cluster.key())
        return SavedPlan(self.model.name, cluster, tuple(self.rows), self.cluster.device.fitted != NOT_FITTED)


def is_plan(path: str) -> bool:
    """Whether a file begins as a plan does."""
    try:
        with Path(path).open("rb") as file:
            return f'"format": "{search.FAMILY}'.encode() in file.read(START)
    except OSError:
        return False


def read(path: str) -> SavedPlan:
    """ValueError for anything that is none."""
    try:
        found = json.loads(Path(path).read_text(encoding="utf-8"))
        if not found["format"].startswith(search.FAMILY) or not found["layouts"]:
            raise ValueError("it holds no layouts")
        rows = [row_of(each) for each in found["layouts"]]
        cluster = cluster_in_words(found["cluster"])
        rows.sort(key=lambda row: (not row.fits, row.seconds))
        is_fitted = NOT_FITTED not in str(found["cluster"][0])
        return SavedPlan(clean(str(found["model"]), lines=False), cluster, tuple(rows), is_fitted)
    except (OSError, *kept_file.WRONG) as error:
        raise ValueError(f"{path} is not a plan ({clean(str(error))}); mtd plan … --json > {path} writes one") from None


def cluster_in_words(key: Any) -> str:
    """Its name, its links and its stragglers, by the key of a cluster (`GpuCluster.key`)."""
    device, _, gpus, net, network, speeds = key
    found = f"{int(gpus)} × {str(device).partition(':')[0]}, {net}"
    outer = re.search(r"inter=Link\(latency=\d+, per_byte=(\d{1,9})(?:/(\d{1,9}))?,", str(network))
    if outer is not None and int(outer[1]):  # picoseconds
        found += f" ({8e3 * int(outer[2] or 1) / int(outer[1]):.4g} Gb/s between nodes)"
    return clean(found, lines=False) + "".join(f", rank {int(rank)} at {float(speed):g}" for rank, speed in speeds)


def row_of(words: dict[str, Any]) -> PlanRow:
    seconds = float(words["seconds"])
    if not 0 < seconds < float("inf"):
        raise ValueError(f"a step takes {seconds} s")
    memory, shares, links = (
        {str(key): float(value) for key, value in dict(words.get(name) or {}).items()}
        for name in ("memory", "shares", "links")
    )
    sent, idle = (float(words.get(name, 0)) for name in ("sent", "idle"))
    fits = bool(words.get("fits", True))
    return PlanRow(_layout(words["layout"]), seconds, memory, True, shares, sent, links, fits, idle)


def _layout(words: dict[str, Any]) -> TrainingLayout:
    found = TrainingLayout(**words)
    str(found.short)  # made of its numbers, which may be none
    hash(found)
    return found


def common(before: SavedPlan, after: SavedPlan) -> list[MovedLayout]:
    """The layouts of both plans, the fastest of `after` first."""
    then = {row.layout: row for row in before.rows}
    return [MovedLayout(then[row.layout], row) for row in after.rows if row.layout in then]
