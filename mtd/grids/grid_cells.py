"""The contents of a grid: what each rank holds of each chunk, step by step (see `grid`).

It knows nothing of runs; `mtd.grids.contributions` makes one of a run, and `mtd` others.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from string import ascii_lowercase, ascii_uppercase
from typing import Any, Final, NamedTuple, Self

EMPTY: Final = "·"
WRONG: Final = "✘"
LETTERS: Final = ascii_lowercase + ascii_uppercase
SMALL: Final = str.maketrans("0123456789-", "₀₁₂₃₄₅₆₇₈₉₋")
FEW: Final = 4  # ranks whose letters are always written; of more, `*` stands for all of them


class GridMessage(NamedTuple):
    """The message that one rank had from another in a step."""

    source: int
    to: int
    text: str  # what is in it
    where: str = ""  # the line that sent it
    columns: Sequence[int] = ()  # those that it changed


class GridStep(NamedTuple):
    name: str
    cells: list[list[str]]  # of each row, by column
    messages: list[GridMessage]


class GridFault(NamedTuple):
    """The first wrong cell."""

    step: int
    row: int
    column: int
    text: str  # what is wrong, and which message brought it


@dataclass(frozen=True)
class GridCells:
    title: str
    rows: list[str]
    columns: list[str]
    steps: list[GridStep]
    due: list[list[str]]  # what each cell has in the end; "" where nobody asks
    fault: GridFault | None = None
    of: str = "chunk"  # what the columns are
    notes: list[str] = field(default_factory=list)

    def is_whole(self, cell: str, row: int, column: int) -> bool:
        """Whether it holds what it has to hold in the end."""
        return bool(cell) and cell == self.due[row][column]

    def written(self, cell: str, row: int, column: int) -> str:
        """A cell in letters."""
        if not cell:
            return EMPTY
        is_long = len(cell) > FEW and self.is_whole(cell, row, column)
        return "*" if is_long else cell

    def mark(self, step: int, row: int, column: int) -> bool:
        """Whether this is the first wrong cell, now or later."""
        return self.fault is not None and self.fault[1:3] == (row, column) and step >= self.fault.step

    def words(self) -> list[str]:
        """The fault, and the notes."""
        return [*([f"{WRONG} {self.fault.text}"] if self.fault else []), *self.notes]

    def to_json(self) -> dict[str, Any]:
        return {**asdict(self), "steps": [step._asdict() for step in self.steps]}

    @classmethod
    def from_json(cls, found: Mapping[str, Any]) -> Self:
        steps = [
            GridStep(each["name"], each["cells"], [GridMessage(*message) for message in each["messages"]])
            for each in found["steps"]
        ]
        fault = None if found["fault"] is None else GridFault(*found["fault"])
        return cls(**{**found, "steps": steps, "fault": fault})


def letter(rank: int) -> str:
    """a, b, c, …"""
    return LETTERS[rank] if rank < len(LETTERS) else f"({rank})"
