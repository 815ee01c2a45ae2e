"""Parts of runs, their pictures and algorithms that other packages bring, by name. They register themselves, or have an entry point, which is asked for once.

fold       one rank runs the program for all that do the same; the planner brings it (`mtd.planning.fold`)
timelines  the work of each rank with its times, and the chain that a run's time is (`mtd.timelines`)
pytorch    the program is PyTorch's: its groups, its generators and its environment are each rank's (`minitorch_dist.pytorch`)
msccl      an algorithm in MSCCL's XML is read; the laboratory brings it (`mtd.laboratory.msccl`)
pages      a run is written as a page or a trace, and a journal is drawn; the command brings it (`mtd.pages`)
"""

from __future__ import annotations

from importlib.metadata import entry_points
from types import ModuleType
from typing import Any, Final

GROUP: Final = "minitorch_dist.sim"
BROUGHT_BY: Final = {
    "fold": "mtd.planning.fold",
    "msccl": "mtd.laboratory.msccl",
    "pages": "mtd.pages",
    "pytorch": "minitorch_dist.pytorch.simulated",
    "timelines": "mtd.timelines",
}
_registered: dict[str, Any] = {}


def register(name: str, module: ModuleType) -> None:
    _registered[name] = module


def find(name: str) -> Any:
    """The module that brings it; ImportError if nobody does."""
    if name not in _registered:
        for point in entry_points(group=GROUP, name=name):
            register(name, point.load())
    if name not in _registered:
        raise ImportError(f"nothing in this program brings {name!r} to runs. Say `import {BROUGHT_BY[name]}` first")
    return _registered[name]
