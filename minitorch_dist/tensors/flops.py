"""Counters of multiplications and additions. Usually there is none, and then an operation pays one test.

Products of matrices, attention and convolutions report their operations here, forwards and backwards. A
multiplication and an addition are two operations. `utils.flop_counter` listens, and so does a simulated
device that takes time.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from contextvars import ContextVar
from typing import NamedTuple

from minitorch_dist.tensors.core import observers

Sizes = tuple[int, int, int]  # rows and columns of a product, and how many terms each element has


class AttentionSizes(NamedTuple):
    """Of attention in one kernel: the length of its sequences, the numbers of a head, and which kernel it is ("2" is FlashAttention-2)."""

    length: int
    head: int
    kernel: str


precision: ContextVar[str] = ContextVar("precision of products", default="")  # if it is not that of their tensors
counters = observers.Listeners("counters")  # told what is done, how much, and its sizes


def done(name: str, operations: int, sizes: Sizes | AttentionSizes | None = None) -> None:
    """Called while `counters.on`. `sizes` are None for work that is not one product of matrices."""
    counters.tell(name, operations, sizes)


def multiplied(name: str, result: Sequence[int], inside: int) -> None:
    """A product with this shape, each of whose elements is a sum of `inside` products."""
    sizes = (*result[-2:], inside) if len(result) > 1 else (1, 1, inside)
    done(name, 2 * math.prod(result) * inside, sizes)  # type: ignore[arg-type]
