"""Numbers of which each sum, product or largest tells whose contributions are in it.

    SumLabels(3, 4).of(1, [0])         what rank 1 gives in element 0
    SumLabels(3, 4).read(number)       ((0, 2), (1, 2)): ranks 0 and 1, with their element 2

Of n elements, rank r gives (offset + e)·baseʳ in element e. So the digits of a sum say which ranks are in it, how often, and
which element each of them gave. Products have primes for that; of the largest and the smallest one contribution is left.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import partial
from typing import Final

import numpy as np

from minitorch_dist.tensors.core.base import Array

BITS: Final = 53  # of a float64; a program may compute in float32, which has 24
FEWER_BITS: Final = 24
UNREADABLE: Final = -1  # the rank of what is no sum of labels,
TIMES: Final = -2  # and of a factor, which is its element
SIGNS: Final = {UNREADABLE: "?", TIMES: "×{}"}
Holding = tuple[tuple[int, int], ...]  # (rank, element of that rank), in order
UNREAD: Final[Holding] = ((UNREADABLE, 0),)  # of anything else


def _is_whole(number: float) -> bool:
    return 0 <= number < 2.0**BITS and number == int(number)


class SumLabels:
    """Numbers of which each sum tells what is in it: its digits are counts of ranks, and their elements."""

    def __init__(self, size: int, count: int, bits: int = BITS) -> None:
        self.size, self.count = size, max(count, 1)
        self.base = 1 << bits // size
        fitting = [times for times in range(1, 65) if times * (2 * times + 1) * self.count < self.base]
        if not fitting:
            raise ValueError(f"sums of {size} ranks and {count} elements have more than {bits} bits")
        self.offset = 2 * fitting[-1] * self.count  # so often, at most, may a rank be in a sum

    def of(self, rank: int, elements: Iterable[int]) -> Array:
        return np.array([(self.offset + e) * self.base**rank for e in elements], dtype=np.float64)

    def read(self, number: float, near: int = -1) -> Holding:
        """The contributions in this sum. Of a rank that is in it several times, `near` is tried as the element."""
        if not _is_whole(number):
            return UNREAD
        found: list[tuple[int, int]] = []
        for rank in range(self.size):
            digit = int(number) // self.base**rank % self.base
            times, rest = divmod(digit, self.offset)
            if not times and rest:
                return UNREAD
            element = near if times > 1 and rest == times * near else rest // max(times, 1)
            found += [(rank, element)] * times
        return tuple(found)


class AverageLabels(SumLabels):
    """The same for averages: what a rank gives is so large that the average has each contribution once."""

    def __init__(self, size: int, count: int) -> None:
        super().__init__(size, count, BITS - size)

    def of(self, rank: int, elements: Iterable[int]) -> Array:
        return super().of(rank, elements) * self.size

    def read(self, number: float, near: int = -1) -> Holding:
        """Of a sum that is not divided yet, all ranks have a factor behind them."""
        whole = super().read(number / self.size, near)
        ranks = {rank for rank, _ in whole}
        is_one = all(element == near for _, element in whole) if near >= 0 else len(ranks) == len(whole)
        if self.size > 1 and UNREADABLE not in ranks and is_one:
            return (*whole, (TIMES, self.size)) if len(ranks) == self.size else whole
        return super().read(number, near)


class PrimeLabels(SumLabels):
    """The same for products: each contribution is a prime."""

    def __init__(self, size: int, count: int) -> None:
        self.size, self.count = size, max(count, 1)
        self.primes = [n for n in range(2, 1000) if all(n % k for k in range(2, n))][: size * self.count]

    def of(self, rank: int, elements: Iterable[int]) -> Array:
        return np.array([self.primes[rank * self.count + e] for e in elements], dtype=np.float64)

    def read(self, number: float, near: int = -1) -> Holding:
        if not _is_whole(number):
            return UNREAD
        found, rest = [], int(number)
        for at, prime in enumerate(self.primes):
            while rest and rest % prime == 0:
                found.append(divmod(at, self.count))
                rest //= prime
        return tuple(found) if rest <= 1 else UNREAD


class WinnerLabels(SumLabels):
    """The same for the largest and the smallest: only one contribution is left, and it has to be rank 0's. Those of which
    the largest wins are negative, so that a 0 would win, too."""

    def __init__(self, size: int, count: int, sign: int) -> None:
        self.size, self.count, self.sign = size, max(count, 1), sign

    def of(self, rank: int, elements: Iterable[int]) -> Array:
        return np.array([self.sign * (1 + rank * self.count + e) for e in elements], dtype=np.float64)

    def read(self, number: float, near: int = -1) -> Holding:
        if not number:
            return ()
        is_label = number * self.sign in range(1, 1 + self.size * self.count)
        return (divmod(int(number * self.sign) - 1, self.count),) if is_label else UNREAD


KINDS: Final[dict[str, tuple[Callable[[int, int], SumLabels], ...]]] = {
    "sum": (SumLabels, partial(SumLabels, bits=FEWER_BITS)),
    "product": (PrimeLabels,),
    "max": (partial(WinnerLabels, sign=-1),),
    "min": (partial(WinnerLabels, sign=1),),
}
