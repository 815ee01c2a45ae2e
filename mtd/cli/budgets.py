"""How many lines of code each package may have, and how many may be loaded by an import: `mtd dev count --budget`.

A budget is what a reader of the package has to read at most. Raising one is a commit of its own, which says why.
Where a package is still larger than its goal, its budget is its size of the day, so that it can only become smaller.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Final, NamedTuple

from mtd.cli.code_lines import GROUNDS, HOUSE, code_lines

LIBRARY: Final = "minitorch_dist"


class Budget(NamedTuple):
    """The lines that a package may have, and those that it shall have at most in the end."""

    name: str
    most: int
    goal: int
    folders: tuple[str, ...]  # or modules; of the library, or of the whole house


BUDGETS: Final = (
    Budget("tensors", 9_500, 9_500, ("tensors", "small/distributions.py", "small/linalg.py", "small/random.py")),
    Budget("nn, optim", 3_380, 4_500, ("nn", "optim")),
    Budget("distributed", 19_430, 19_500, ("distributed",)),
    Budget("sim", 4_665, 4_500, ("sim",)),
    Budget("pytorch", 2_475, 2_500, ("pytorch",)),
    Budget("small rooms", 4_500, 4_500, ("autograd", "serialization", "futures.py", "launching", "multiprocessing", "utils", "cuda", "amp", "profiler")),
    Budget("for tests, pictures, models, data", 2_440, 2_500, ("testing", "pictures", "models", "datasets", "small/transforms.py")),
    Budget("faces", 645, 1_000, ("__init__.py", "inventory", "small/__init__.py", "small/accelerator.py", "small/backends", "small/compiler.py", "small/cpu.py", "small/version.py")),
    Budget("transports", 10_995, 11_000, ("transports",)),
    Budget("mtd", 26_665, 22_000, ("mtd",)),
)  # fmt: skip
WHOLE: Final = Budget("the whole library", 47_020, 47_500, (LIBRARY,))  # 45,000 without `pytorch`

LOADED: Final = (
    Budget("import minitorch_dist", 9_100, 12_000, ()),
    Budget("from minitorch_dist.nn.parallel import DistributedDataParallel", 24_665, 28_000, ()),
)


class Counted(NamedTuple):
    """A budget and the lines of code that were counted."""

    budget: Budget
    lines: int

    @property
    def is_over(self) -> bool:
        return self.lines > self.budget.most


@cache
def _lines_of(path: Path) -> int:
    return code_lines(path.read_text("utf-8"))


def files_of(budget: Budget) -> Iterator[Path]:
    """The modules of a package."""
    for name in budget.folders:
        path = HOUSE / name if name in GROUNDS else HOUSE / LIBRARY / name
        yield from sorted(path.rglob("*.py")) if path.is_dir() else [path] * path.exists()


def rooms() -> list[Counted]:
    """Each package, and the library as a whole."""
    return [Counted(one, sum(map(_lines_of, files_of(one)))) for one in (*BUDGETS, WHOLE)]


def loaded() -> list[Counted]:
    """The lines that a fresh interpreter has read of the library and the wires, after each statement."""
    return [Counted(one, sum(map(_lines_of, modules_after(one.name)))) for one in LOADED]


def modules_after(statement: str) -> list[Path]:
    """The files of the modules that a statement imports."""
    program = (
        f"import sys\n{statement}\n"
        f"ours = [m for n, m in sys.modules.items() if n.partition('.')[0] in {GROUNDS!r}]\n"
        "print(*{m.__file__ for m in ours if getattr(m, '__file__', None)}, sep='\\n')"
    )
    env = {**os.environ, "PYTHONPATH": str(HOUSE)}
    said = subprocess.check_output([sys.executable, "-c", program], env=env, text=True)
    return [Path(line) for line in said.splitlines()]
