"""Which gradients travel together: many small all_reduces cost a latency each, one large one can only
start when everything is computed. So gradients are packed into buckets of some megabytes.

    parameters     a  b  c  d  e  f          backward computes f's gradient first, a's last
    buckets        [f e] [d c b] [a]         sent in this order, each when it is full
                   1 MB   25 MB

Until the real order in which gradients become ready is known (after the first backward), the
reverse of the order of registration stands in for it.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Any, Final, NamedTuple

from minitorch_dist.distributed.grad_bucket import GradBucket
from minitorch_dist.tensors import base, grad_mode, ledger
from minitorch_dist.tensors.base import TensorBase
from minitorch_dist.tensors.ops.making import creation
from minitorch_dist.tensors.tensor import Tensor

MIB: Final = 1024 * 1024
FIRST: Final = MIB  # of the bucket that is sent first: small, so that sending begins early
USUAL: Final = 25 * MIB


class Caps(NamedTuple):
    """How many bytes make a bucket full. `each` gives them one by one, the last for all others."""

    first: int = FIRST
    usual: int = USUAL
    each: tuple[int, ...] = ()

    @classmethod
    def of(cls, mib: float | None, mib_list: Sequence[float] | None) -> Caps:
        """From DDP's arguments: a cap that is given holds for the first bucket, too."""
        if mib_list:
            each = tuple(int(cap * MIB) for cap in mib_list)
            return cls(max(each), max(each), each)
        return cls() if mib is None else cls(int(mib * MIB), int(mib * MIB))

    def at_first(self, finds_unused: bool) -> list[int]:
        """For the buckets of the first backward pass. One that will be replaced is not cut."""
        if self.each:
            return list(self.each)
        return self.for_good() if finds_unused else [sys.maxsize]

    def for_good(self) -> list[int]:
        if self.each:
            return list(self.each)
        return [self.first, self.usual] if self.first < self.usual else [self.usual]


def assign(
    parameters: Sequence[TensorBase], caps: Sequence[int], order: Sequence[int] | None = None
) -> list[list[int]]:
    """The numbers of the parameters in each bucket, in the order of sending.

    Taken in `order`, a bucket is closed as soon as it has reached its cap. Dtypes and devices do not
    mix. Without `order` they are taken as they come, and the buckets are then reversed.
    """
    open_buckets: dict[Any, list[int]] = {}
    sizes: dict[Any, int] = {}
    level: dict[Any, int] = {}
    closed: list[list[int]] = []
    for number in range(len(parameters)) if order is None else order:
        p = parameters[number]
        kind = p.array.dtype, p.storage.device
        members = open_buckets.setdefault(kind, [])
        members.append(number)
        sizes[kind] = sizes.get(kind, 0) + p.array.nbytes
        if sizes[kind] >= caps[level.setdefault(kind, 0)]:
            closed.append(members)
            del open_buckets[kind], sizes[kind]
            level[kind] = min(level[kind] + 1, len(caps) - 1)
    closed.extend(open_buckets.values())
    return closed if order is not None else sorted(closed, key=min)[::-1]


class Bucket:
    """A flat tensor, and a window on it for each of its parameters."""

    def __init__(
        self, index: int, numbers: list[int], parameters: Sequence[TensorBase], dtype: Any = None
    ) -> None:
        self.index, self.numbers = index, numbers
        self.parameters = [parameters[number] for number in numbers]
        first = self.parameters[0]
        size = sum(p.array.size for p in self.parameters)
        with ledger.category("communication"), grad_mode.no_grad():
            self.flat: Tensor = creation.zeros(
                size, dtype=dtype or first.dtype, device=first.storage.device
            )
            self.views: list[Tensor] = []
            stop = 0
            for p in self.parameters:
                start, stop = stop, stop + p.array.size
                self.views.append(self.flat[start:stop].view(p.array.shape))
        self.pending = 0

    @property
    def nbytes(self) -> int:
        return self.flat.array.nbytes

    def as_seen_by_hooks(self, is_last: bool) -> GradBucket:
        return GradBucket(self.index, self.flat, self.views, self.parameters, is_last)

    def zeros(self, is_last: bool) -> GradBucket:
        """What a rank without inputs contributes."""
        flat = base.new(Tensor, self.flat.array * 0, self.flat.storage.device)
        views, stop = [], 0
        for p in self.parameters:
            start, stop = stop, stop + p.array.size
            views.append(flat[start:stop].view(p.array.shape))
        return GradBucket(self.index, flat, views, self.parameters, is_last)

    def __repr__(self) -> str:
        return (
            f"<Bucket {self.index}: parameters {self.numbers}, {self.nbytes} bytes, "
            f"{self.pending} gradients pending>"
        )
