"""A rank that notices which ranks a comparison tells apart.

    if rank == 5:        of eight ranks that run this line, one takes the other branch

A representative runs the line for all ranks of its role. Its rank is an int that knows what the same expression
is on every rank of the world. A comparison is answered for the representative. The ranks for which the answer is
another one are reported, and leave the role.

Where an int is asked for by C code (an index, a shape), nobody notices. Witnesses are for that.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

Table = NDArray[np.int64]
Agree = Callable[[NDArray[np.bool_], bool], None]


class RankNumber(int):
    """`table[r]` is what this number is on rank r; `agree` is told the answers of all ranks, and the own one."""

    table: Table
    agree: Agree

    def __new__(cls, value: int, table: Table, agree: Agree) -> RankNumber:
        made = super().__new__(cls, value)
        made.table, made.agree = table, agree
        return made

    def __bool__(self) -> bool:
        return bool(self._answer(operator.ne, 0))

    def __hash__(self) -> int:
        """A key of a dict or of a set. Another rank may find another one, without any comparison here."""
        self._answer(operator.eq, int(self))
        return int.__hash__(self)

    def __reduce__(self) -> Any:
        return int, (int(self),)

    def _answer(self, compare: Callable[[Any, Any], Any], other: Any) -> Any:
        own = compare(int(self), int(other) if isinstance(other, RankNumber) else other)
        if isinstance(own, bool) and isinstance(other, int | float):
            answers = compare(self.table, other.table if isinstance(other, RankNumber) else other)
            self.agree(np.asarray(answers, np.bool_), own)
        return own


def _compared(compare: Callable[[Any, Any], Any]) -> Callable[[RankNumber, Any], Any]:
    return lambda self, other: self._answer(compare, other)


def _computed(compute: Callable[[Any, Any], Any], turned: bool) -> Callable[[Any, Any], Any]:
    """An operator of two numbers, done for all ranks at once."""

    def method(self: RankNumber, other: Any) -> Any:
        own, theirs = int(self), int(other) if isinstance(other, RankNumber) else other
        value = compute(theirs, own) if turned else compute(own, theirs)
        if type(value) is not int:
            return value
        table = other.table if isinstance(other, RankNumber) else other
        with np.errstate(all="ignore"):
            all_values = compute(table, self.table) if turned else compute(self.table, table)
        return RankNumber(value, all_values, self.agree)

    return method


for _name in ("eq", "ne", "lt", "le", "gt", "ge"):
    setattr(RankNumber, f"__{_name}__", _compared(getattr(operator, _name)))
for _name in ("add", "sub", "mul", "floordiv", "mod", "and_", "or_", "xor", "lshift", "rshift"):
    _compute = getattr(operator, _name)
    setattr(RankNumber, f"__{_name.strip('_')}__", _computed(_compute, False))
    setattr(RankNumber, f"__r{_name.strip('_')}__", _computed(_compute, True))
RankNumber.__divmod__ = lambda self, other: (self // other, self % other)  # type: ignore[method-assign]
