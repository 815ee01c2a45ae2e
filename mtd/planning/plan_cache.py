"""The findings of plans, in a file: an interrupted plan goes on where it was.

Kept are the rows of simulated layouts, the short runs of one layout that is asked for, and the seconds that bounds are made of. The key
of each holds all that decides it: the model, the layout and the cluster. So plans of other models and other clusters keep theirs in the
same file.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
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
    """ValueError for a file that is none, or that is damaged; OSError if it cannot be written at the start. On a disk that is full later
    it goes on without keeping, and says so once by `tell`."""

    def __init__(self, path: Path, tell: Callable[[str], object] = len) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        whole_files.check(path, BEGIN, "cache of plans")
        self.path = path
        self.tell, self.is_kept, self.is_of_another_version = tell, True, False
        self.rows, self.seconds, self.runs = self._read()  # by key
        if self.is_of_another_version:
            tell(f"{path} is of another version: it is begun anew")

    @property
    def where(self) -> str:
        """Where the same command goes on, for somebody who stopped it."""
        if not self.is_kept:
            return f"what is done could not be kept in {self.path}"
        return f"what is done is in {self.path}, and the same command goes on"

    def _read(self) -> tuple[Kept, dict[str, list[float]], dict[str, dict[str, float]]]:
        try:
            text = self.path.read_text(encoding="utf-8") if self.path.is_file() else ""
            if not text:
                return {}, {}, {}
            kept = json.loads(text)
            if kept["format"] != FORMAT:
                self.is_of_another_version = True
                return {}, {}, {}
            seconds = {key: [*map(float, each)] for key, each in kept.get("seconds", {}).items()}
            runs = {
                key: {word: float(value) for word, value in each.items()} for key, each in kept.get("runs", {}).items()
            }
            return dict(kept["rows"]), seconds, runs
        except (ValueError, LookupError, TypeError, AttributeError, OverflowError, RecursionError) as error:
            raise ValueError(
                f"{self.path} is damaged ({clean(str(error))}): delete it, or name another file with --cache"
            ) from None

    def key(self, model: ModelSizes, layout: TrainingLayout, cluster: GpuCluster, *more: object) -> str:
        decides = [asdict(model), layout.as_dict(), cluster.key(), *choice.preferred(), *more]
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

    def keep_run(self, key: str, found: dict[str, float]) -> None:
        self.runs[key] = found
        self._write()

    def end(self) -> None:
        """All that was asked for is there: the next command asks anew."""
        self.path.unlink(missing_ok=True)

    def _write(self) -> None:
        """With what another plan has kept meanwhile."""
        try:
            rows, seconds, runs = self._read()
        except (OSError, ValueError):
            rows, seconds, runs = {}, {}, {}
        self.rows, self.seconds, self.runs = ({**rows, **self.rows}, {**seconds, **self.seconds}, {**runs, **self.runs})
        kept = {"format": FORMAT, "rows": self.rows, "seconds": self.seconds, "runs": self.runs}
        try:
            whole_files.write(self.path, json.dumps(kept))
        except OSError as error:
            if self.is_kept:
                self.tell(f"{self.path} cannot be written ({error.strerror}); it goes on, and keeps nothing")
            self.is_kept = False
