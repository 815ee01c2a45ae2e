"""The story of a class, in words: its last lines only, however many events one laptop causes."""

from __future__ import annotations

from typing import Final

KEPT: Final = 1000  # lines, at least


class Story(list[str]):
    """A list to which lines are appended, and whose oldest lines go. `told` counts all that there were."""

    def __init__(self) -> None:
        super().__init__()
        self.told = 0

    def append(self, line: str) -> None:
        super().append(line)
        self.told += 1
        if len(self) >= 2 * KEPT:
            del self[:-KEPT]

    def since(self, told: int) -> list[str]:
        """The lines after the first `told`, as far as they are kept."""
        return self[max(told - (self.told - len(self)), 0) :]
