"""The findings of plans, in a file: an interrupted plan goes on where it was.

Kept are the rows of simulated layouts, the short runs of one layout that is asked for, and the seconds that bounds are made of. The key
of each holds the model, the layout and the cluster. So plans of other models and other clusters keep theirs in the same file.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import Any, Final

from minitorch_dist.distributed.schedules import choice
from mtd.pages.kept_file import KeptFile
from mtd.planning import saved_plans
from mtd.planning.clusters import GpuCluster
from mtd.planning.model_files import ModelSizes
from mtd.planning.search import FAMILY, FORMAT

ROWS: Final = "rows"
SECONDS: Final = "seconds"
RUNS: Final = "runs"
READERS: Final[dict[str, Callable[[Any], Any]]] = {
    ROWS: saved_plans.row_of,
    SECONDS: lambda kept: [*map(float, kept)],
    RUNS: lambda kept: {word: float(value) for word, value in kept.items()},
}


class PlanCache(KeptFile):
    def __init__(self, path: Path, tell: Callable[[str], object] = len) -> None:
        super().__init__(path, FAMILY, FORMAT, "cache of plans", READERS, tell)

    def key(self, model: ModelSizes, layout: Any, cluster: GpuCluster, *more: object) -> str:
        """`layout`: or what its layers take depends on (see `bounds`)."""
        decides = [model, layout, cluster.key(), *choice.preferred(), *more]
        return json.dumps(decides, sort_keys=True, default=asdict)

    def end(self) -> None:
        """All that was asked for is there: the next command asks anew."""
        self.path.unlink(missing_ok=True)
