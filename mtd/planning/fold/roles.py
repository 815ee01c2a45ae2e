"""The roles of one program, and who runs it for them.

    all ranks in one role ──► rank 0 runs ──► `if rank == 5` ──► {0, 1, 2, 3, 4, 6, 7}  and  {5}, which 5 runs for

When the representative of a role is through, a witness runs the program, too: the last rank of the role. Sizes
that a library cuts by rank do not grow with the rank. So where the first and the last rank agree, all do.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from copy import deepcopy
from dataclasses import dataclass
from typing import Final, NoReturn

import numpy as np
from numpy.typing import NDArray

from minitorch_dist.tensors.core.base import Array
from mtd.planning.fold.rank_number import Table

FEW: Final = 4  # a role of so many ranks is run by all of them


class CannotFold(RuntimeError):
    """A program that does something which one rank cannot do for others, and that is too large to be run in full."""


def refuse(what: str) -> NoReturn:
    raise CannotFold(f"{what}, which one rank cannot do for others")


@dataclass(frozen=True)
class Role:
    """Ranks that do the same. The witnesses have run the program, too, and did what the representative did."""

    ranks: tuple[int, ...]
    representative: int
    witnesses: tuple[int, ...]

    def __repr__(self) -> str:
        return f"<Role of {len(self.ranks)} ranks, run by rank {self.representative}>"


class WorldGroups:
    """The groups that a program has made so far, on all ranks. Representatives that make the same ones share it."""

    def __init__(self, size: int) -> None:
        self.counts = np.zeros(size, np.int64)  # of each rank: its groups
        self.tables: list[Table] = []  # by group and rank: its group rank there
        self.parts: list[list[tuple[int, ...]]] = []  # by group: the ranks of each of its instances
        self.part_of: list[Table] = []  # by group and rank: which of those
        self._more: dict[tuple[tuple[int, ...], ...], WorldGroups] = {}

    def more(self, parts: tuple[tuple[int, ...], ...]) -> WorldGroups:
        """With these, too."""
        found = self._more.get(parts)
        if found is None:
            found = self._more[parts] = WorldGroups(len(self.counts))
            given = self.counts, self.tables, self.parts, self.part_of
            found.counts, found.tables, found.parts, found.part_of = deepcopy(given)
            for ranks in parts:
                found._add(ranks)
        return found

    def _add(self, ranks: tuple[int, ...]) -> None:
        members = np.array(ranks, np.int64)
        numbers = self.counts[members]
        for number in sorted({*numbers.tolist()}):
            while len(self.tables) <= number:
                self.tables.append(np.full(len(self.counts), -1, np.int64))
                self.part_of.append(np.full(len(self.counts), -1, np.int64))
                self.parts.append([])
            those = numbers == number
            self.tables[number][members[those]] = np.flatnonzero(those)
            self.part_of[number][members[those]] = len(self.parts[number])
            self.parts[number].append(ranks)
        self.counts[members] += 1


class RoleTable:
    """Which rank has which role, so far. `call` is called with each rank that shall run the program."""

    def __init__(self, size: int, key: Callable[[int], Hashable] | None, call: Callable[[int], None]) -> None:
        self.of, self.groups = np.zeros(size, np.int64), WorldGroups(size)  # by rank
        self.members: list[Table] = []
        self.first: list[int] = []  # representatives
        self.witnesses: list[list[int]] = []
        self.call = call
        keys: dict[Hashable, list[int]] = {}
        for rank in range(size):
            keys.setdefault(None if key is None else key(rank), []).append(rank)
        for ranks in keys.values():
            self._add(np.array(ranks, np.int64))

    def _add(self, ranks: Table) -> None:
        self.of[ranks] = len(self.members)
        self.members.append(ranks)
        self.first.append(int(ranks[0]))
        self.witnesses.append([])
        self.call(int(ranks[0]))

    def split(self, rank: int, answers: NDArray[np.bool_], own: bool, may: bool) -> None:
        """The representative `rank` has got this answer, and others of its role get another one."""
        role = int(self.of[rank])
        ranks = self.members[role]
        same = answers[ranks] == own
        if same.all():
            return
        if not may:
            raise CannotFold(f"rank {rank} takes a branch that rank {self.first[role]} does not come to")
        self.members[role] = ranks[same]
        self._add(ranks[~same])

    def is_first(self, rank: int) -> bool:
        return self.first[int(self.of[rank])] == rank

    def call_witnesses(self, rank: int) -> None:
        """The representative `rank` is through."""
        role = int(self.of[rank])
        if self.witnesses[role]:
            return
        ranks = self.members[role]
        chosen = ranks[1:] if len(ranks) <= FEW else ranks[-1:]
        self.witnesses[role] = chosen.tolist()
        for witness in self.witnesses[role]:
            self.call(witness)

    def roles(self) -> tuple[Role, ...]:
        return tuple(
            Role(tuple(ranks.tolist()), first, tuple(witnesses))
            for ranks, first, witnesses in zip(self.members, self.first, self.witnesses, strict=True)
        )

    def __repr__(self) -> str:
        return f"<RoleTable of {len(self.of)} ranks in {len(self.members)} roles>"


def uniform(values: Array) -> bool:
    """Whether all are equal."""
    return len(values) == 0 or bool((values == values[0]).all())
