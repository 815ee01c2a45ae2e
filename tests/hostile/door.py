"""A door: one reader of what others wrote, and how to knock at it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Any

Make = Callable[[Random, int], Any]
Bend = Callable[[Random, Any, Sequence[Any]], Any]


@dataclass(frozen=True)
class Door:
    """`make(random, size)` is a right input, with about `size` parts. `bend(random, input, pool)` is
    the same with one thing wrong; the pool holds other right inputs, to splice with. `read` is the
    reader: it returns, or raises one of `refusals`. All else is a fall (see `judging`).

    `fix` puts right what a reader looks at first, such as a length or a seal. Without it, few bent
    inputs would come farther than that.
    """

    name: str
    make: Make
    bend: Bend
    read: Callable[[Any], Any]
    refusals: tuple[type[BaseException], ...]
    fix: Callable[[Random, Any], Any] | None = None
    weight: float = 1.0  # its share of the time
    folder: Path | None = None  # files in here may be written and read
    has_large: bool = True  # whether `make` heeds its size
    is_always_right: bool = True  # whether an input that was not bent has to be accepted
    is_of_others: bool = True  # no error may show its texts as they are; what somebody typed may be said again

    def size_of(self, given: Any) -> int:
        return len(given) if isinstance(given, bytes | str) else len(repr(given))


POOL = 200  # inputs in a row that share a pool, so that an input costs less than its making
LARGE = 500  # one input in so many is a large one
LARGEST = 3000  # parts


@dataclass(frozen=True)
class Input:
    """What one token stands for."""

    given: Any
    changes: int


class Inputs:
    """The inputs of a door with one seed, by their numbers."""

    def __init__(self, door: Door, seed: int) -> None:
        self.door, self.seed = door, seed
        self._block = -1
        self._pool: list[Any] = []

    def input(self, number: int) -> Input:
        """Number `number`: always the same one."""
        door = self.door
        if number // POOL != self._block:
            self._block = number // POOL
            fresh = Random(f"{door.name}/{self.seed}/pool/{self._block}")
            self._pool = [door.make(fresh, fresh.choice((0, 1, 2, 3, 5, 8))) for _ in range(16)]
        random = Random(f"{door.name}/{self.seed}/{number}")
        if door.has_large and number % LARGE == LARGE - 1:
            given = door.make(random, random.randrange(200, LARGEST))
        else:
            given = random.choice(self._pool)
        changes = random.choice((0, 1, 1, 1, 1, 2, 2, 3, 5))
        for _ in range(changes):
            given = door.bend(random, given, self._pool)
        if changes and door.fix is not None and random.random() < 0.75:
            given = door.fix(random, given)
        return Input(given, changes)
