"""All ranks at once: the array 0, 1, …, size-1, which knows when it was only rotated.

Most schedules compute with ranks as on a circle: `(rank + 1) % size`, `(rank - step) % size`. With
a plain `numpy.arange(size)` this works, and costs a division per rank and step. An `Everyone`
behaves like that array, but writes down such a turn as one number. For all other operations it becomes the
plain array. `cost` then moves a vector round the circle by two slices, and sees that nothing has to be
moved where all ranks are alike.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

Integers = NDArray[np.int64]


@lru_cache(maxsize=16)
def _twice_round(size: int) -> Integers:
    circle = np.arange(2 * size, dtype=np.int64) % size
    circle.flags.writeable = False
    return circle


class Everyone:
    """Each rank's own number plus `turn`; modulo `size` once `% size` was taken (`is_round`)."""

    __slots__ = ("is_round", "size", "turn")

    def __init__(self, size: int, turn: int = 0, is_round: bool = False) -> None:
        self.size, self.turn, self.is_round = size, turn, is_round or turn == 0

    def array(self) -> Integers:
        """The same as a plain array (a read-only view where that is possible)."""
        if self.is_round:
            return _twice_round(self.size)[self.turn : self.turn + self.size]
        return np.arange(self.turn, self.turn + self.size, dtype=np.int64)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Any:
        return np.array(self.array(), dtype=dtype, copy=copy)

    def __len__(self) -> int:
        return self.size

    def __add__(self, other: Any) -> Any:
        if type(other) is int and (self.turn == 0 or not self.is_round):
            return Everyone(self.size, self.turn + other)
        if type(other) is int:
            return _Turned(self.size, self.turn, other)
        return self.array() + other

    __radd__ = __add__

    def __sub__(self, other: Any) -> Any:
        return self + -other if type(other) is int else self.array() - other

    def __mod__(self, other: Any) -> Any:
        if type(other) is int and other == self.size:
            return Everyone(self.size, self.turn % self.size, True)
        return self.array() % other


class _Turned(Everyone):
    """`(rank + turn) % size + more`: one more `% size` makes it a turn again."""

    __slots__ = ("more",)

    def __init__(self, size: int, turn: int, more: int) -> None:
        self.size, self.turn, self.is_round, self.more = size, turn, False, more

    def array(self) -> Integers:
        return _twice_round(self.size)[self.turn : self.turn + self.size] + self.more

    def __add__(self, other: Any) -> Any:
        if type(other) is int:
            return _Turned(self.size, self.turn, self.more + other)
        return self.array() + other

    def __mod__(self, other: Any) -> Any:
        if type(other) is int and other == self.size:
            return Everyone(self.size, (self.turn + self.more) % self.size, True)
        return self.array() % other


def _plain(name: str) -> Any:
    """The array's own answer, for all that does not keep the circle."""

    def answer(self: Everyone, *others: Any) -> Any:
        return getattr(self.array(), name)(*[np.asarray(other) for other in others])

    answer.__name__ = name
    return answer


_OPERATORS = "rsub mul rmul floordiv rfloordiv and rand or ror xor rxor lshift rlshift rshift eq ne lt le gt ge neg"
for _name in _OPERATORS.split():
    setattr(Everyone, f"__{_name}__", _plain(f"__{_name}__"))
