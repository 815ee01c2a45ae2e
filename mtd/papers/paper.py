"""The parts of a reproduced table. Its published numbers and its texts stand in `papers.toml`."""

from __future__ import annotations

import importlib
import tomllib
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, NamedTuple

FILE: Final = Path(__file__).with_name("papers.toml")
TABLE: Final[dict[str, dict[str, Any]]] = tomllib.loads(FILE.read_text("utf-8"))
PAPERS: Final = tuple(sorted(TABLE))


class Row(NamedTuple):
    """One number. `published` may be a bracket (low, high) in which ours has to lie, or which ours
    spans around a published number (then `ours` is the bracket)."""

    what: str
    published: float | tuple[float, float]
    ours: float | tuple[float, float]
    tolerance: float = 0.0  # relative
    unit: str = ""

    @property
    def difference(self) -> float | None:
        """Relative; None where one of both is a bracket."""
        if isinstance(self.published, tuple) or isinstance(self.ours, tuple):
            return None
        return (self.ours - self.published) / self.published if self.published else self.ours

    @property
    def holds(self) -> bool:
        if isinstance(self.ours, tuple) and not isinstance(self.published, tuple):
            return self.ours[0] <= self.published <= self.ours[1]
        if isinstance(self.published, tuple) and not isinstance(self.ours, tuple):
            return self.published[0] <= self.ours <= self.published[1]
        difference = self.difference
        return difference is not None and abs(difference) <= self.tolerance


@dataclass(frozen=True)
class Paper:
    title: str
    source: str
    about: str  # what is done here, and what is not checked
    rows: Callable[[], Sequence[Row]]
    long_rows: Callable[[], Iterable[Row]] = tuple  # with --long: minutes and more each


def paper(name: str) -> Paper:
    """By the name of its module, and of its part of `papers.toml`."""
    if name not in PAPERS:
        raise ValueError(f"there is no paper {name!r} here; there are {', '.join(PAPERS)}")
    module, said = importlib.import_module(f"mtd.papers.{name}"), TABLE[name]
    long_rows = getattr(module, "long_rows", tuple)
    return Paper(said["title"], said["source"], said["about"], module.rows, long_rows)


def published_rows(name: str) -> list[Any]:
    """The numbers that a paper printed, as `papers.toml` has them."""
    return [*TABLE[name]["rows"]]
