"""The order in which a schedule adds up each chunk, found once, and the sums in this order without any messages.

    the schedule on numbers that stand for sums ──► of each chunk: which two sums make the next one
    then on the ranks' own arrays, a piece at a time ──► every element is read once and written once

A number below `size` stands for the value of that rank, and each other one for the sum of an earlier pair. Both
sides of a pair keep their places, so the bits are those of the messages.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from minitorch_dist.distributed.reductions import CombineFunction

Array = NDArray[Any]
PIECE = 1 << 14  # bytes of each rank that are added up at once, so that the pieces of all ranks stay in the cache


class PairNumbers:
    """Takes the place of a reduce op: a new pair gets the next number."""

    def __init__(self, size: int) -> None:
        self.size, self.pairs = size, list[tuple[int, int]]()
        self._known: dict[tuple[int, int], int] = {}

    def __call__(self, left: Array, right: Array, out: Array) -> Array:
        pairs = zip(left.ravel().tolist(), right.ravel().tolist(), strict=True)
        out.reshape(-1)[:] = [self._number(pair) for pair in pairs]
        return out

    def _number(self, pair: tuple[int, int]) -> int:
        found = self._known.get(pair)
        if found is None:
            found = self._known[pair] = self.size + len(self.pairs)
            self.pairs.append(pair)
        return found


class AdditionOrder:
    """Of one schedule. `sums[rank][chunk]` is what a rank holds in the end; one row if all ranks hold the same."""

    def __init__(self, size: int, play: Callable[[CombineFunction], Array]) -> None:
        """`play` carries out the schedule on one number for each chunk, with this reduce op."""
        numbers = PairNumbers(size)
        self.sums, self.size, self.pairs = play(numbers).tolist(), size, numbers.pairs
        self._programs: dict[frozenset[int], list[int]] = {}

    def of(self, rank: int, chunk: int) -> int:
        return int(self.sums[rank % len(self.sums)][chunk])

    def are_alike(self, chunk: int, other: int) -> bool:
        """Whether all ranks add up both in the same order."""
        return all(row[chunk] == row[other] for row in self.sums)

    def add(self, wanted: frozenset[int], values: Sequence[Array], combine: CombineFunction) -> dict[int, Array]:
        """These sums of the ranks' values, in arrays of their own."""
        size, program = self.size, self._program(wanted)
        uses = Counter(each for number in program for each in self.pairs[number - size])
        uses.update(wanted)
        made: dict[int, Array] = {}
        for number in program:
            left, right = self.pairs[number - size]
            uses[left] -= 1
            uses[right] -= 1
            own = next((made[each] for each in (left, right) if each >= size and not uses[each]), None)
            a, b = (values[each] if each < size else made[each] for each in (left, right))
            made[number] = combine(a, b, out=np.empty_like(a) if own is None else own)
        return {number: made[number] if number >= size else values[number].copy() for number in wanted}

    def _program(self, wanted: frozenset[int]) -> list[int]:
        """The pairs that these sums are made of; each comes after its parts, and soon after them."""
        found = self._programs.get(wanted)
        if found is None:
            found = self._programs[wanted] = []
            waiting, seen = [(number, False) for number in wanted], set[int]()
            while waiting:
                number, has_parts = waiting.pop()
                if has_parts:
                    found.append(number)
                elif number >= self.size and number not in seen:
                    seen.add(number)
                    waiting.append((number, True))
                    waiting += [(part, False) for part in reversed(self.pairs[number - self.size])]
        return found

    def __repr__(self) -> str:
        return f"<AdditionOrder of {self.size} ranks, {len(self.pairs)} pairs>"
