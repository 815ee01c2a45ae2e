"""The findings of plans, in a file: an interrupted plan goes on where it was.

Kept are the rows of simulated layouts, and the seconds that bounds are made of. The key of each holds all that decides
it: the model, the layout and the cluster. So plans of other models and other clusters keep theirs in the same file.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any, Final

from minitorch_dist.distributed.schedules import choice
from mtd.pages import whole_files
from mtd.planning import saved_plans
from mtd.planning.clusters import GpuCluster
from mtd.planning.layouts import TrainingLayout
from mtd.planning.model_files import ModelSizes
from mtd.planning.search import FAMILY, FORMAT, PlanRow
from transports.plain_text import clean

BEGIN: Final = f'{{"format": "{FAMILY}'.encode()
Kept = dict[str, dict[str, Any]]


class PlanCache:
    """ValueError for a file that is none, or that is damaged; OSError if it cannot be written."""

    def __init__(self, path: Path) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        whole_files.check(path, BEGIN, "cache of plans")
        self.path = path
        self.is_of_another_version = False
        self.rows, self.seconds = self._read()  # by key

    def _read(self) -> tuple[Kept, dict[str, list[float]]]:
        try:
            text = self.path.read_text(encoding="utf-8") if self.path.is_file() else ""
            if not text:
                return {}, {}
            kept = json.loads(text)
            if kept["format"] != FORMAT:
                self.is_of_another_version = True
                return {}, {}
            seconds = {key: [*map(float, each)] for key, each in kept.get("seconds", {}).items()}
            return dict(kept["rows"]), seconds
        except (ValueError, LookupError, TypeError, AttributeError, OverflowError, RecursionError) as error:
            raise ValueError(
                f"{self.path} is damaged ({clean(str(error))}): delete it, or name another file with --cache"
            ) from None

    def key(self, model: ModelSizes, layout: TrainingLayout, cluster: GpuCluster) -> str:
        decides = [asdict(model), layout.as_dict(), cluster.key(), *choice.preferred()]
        return json.dumps(decides, sort_keys=True)

    def get(self, key: str) -> PlanRow | None:
        try:
            return saved_plans.row_of(self.rows[key])
        except (LookupError, TypeError, ValueError, AttributeError, OverflowError):
            return None  # not there, or no row

    def put(self, key: str, row: PlanRow) -> None:
        self.rows[key] = row.as_dict()
        self._write()

    def keep_seconds(self, key: str, values: Sequence[float]) -> None:
        self.seconds[key] = [float(each) for each in values]
        self._write()

    def _write(self) -> None:
        """With what another plan has kept meanwhile."""
        try:
            rows, seconds = self._read()
        except (OSError, ValueError):
            rows, seconds = {}, {}
        self.rows, self.seconds = {**rows, **self.rows}, {**seconds, **self.seconds}
        whole_files.write(
            self.path, json.dumps({"format": FORMAT, "rows": self.rows, "seconds": self.seconds})
        )
