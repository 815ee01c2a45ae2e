"""Which gradients travel together. Many small all_reduces cost a latency each, and one large one can only
start when everything is computed. So gradients are packed into buckets of some megabytes.

    parameters     a  b  c  d  e  f          backward computes f's gradient first, a's last
    buckets        [f e] [d c b] [a]         sent in this order, each when it is full
                   1 MB   25 MB

Until the real order in which gradients become ready is known (after the first backward), the
reverse of the order of registration stands in for it.

A gradient is copied into its bucket (`put`), and its average out of it (`give`). The gradient stands in the
parameter's `.grad`. Within a backward pass of distributed autograd it stands in that pass's context.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Final

import numpy as np

from minitorch_dist.distributed.grad_bucket import GradBucket
from minitorch_dist.distributed.prepared import PreparedCall
from minitorch_dist.tensors import devices, ledger
from minitorch_dist.tensors.autograd import grad_modes, passes
from minitorch_dist.tensors.core import base, engine
from minitorch_dist.tensors.core.base import TensorBase
from minitorch_dist.tensors.makers import creation
from minitorch_dist.tensors.tensor import Tensor

MIB: Final = 1024 * 1024
FIRST: Final = MIB  # of the bucket that is sent first: small, so that sending begins early
USUAL: Final = 25 * MIB


def caps_of(mib: float | None) -> list[int]:
    """How many bytes make a bucket full: the first one, and the others. A cap that is given holds for all."""
    return [FIRST, USUAL] if mib is None else [int(mib * MIB)]


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


def windows(flat: Any, tensors: Iterable[TensorBase]) -> Iterator[tuple[TensorBase, Any]]:
    """Each tensor, and its place in a flat array or tensor."""
    stop = 0
    for tensor in tensors:
        start, stop = stop, stop + tensor.array.size
        yield tensor, flat[start:stop].reshape(tensor.array.shape)


class Bucket:
    """A flat tensor, and a window on it for each of its parameters."""

    def __init__(self, index: int, numbers: list[int], parameters: Sequence[TensorBase]) -> None:
        self.index, self.numbers = index, numbers
        self.parameters = [parameters[number] for number in numbers]
        first = self.parameters[0]
        size = sum(p.array.size for p in self.parameters)
        with ledger.category("communication"), grad_modes.no_grad():
            self.flat: Tensor = creation.zeros(size, dtype=first.dtype, device=first.storage.device)
            self.views: list[Tensor] = [view for _, view in windows(self.flat, self.parameters)]
        self.all_reduce: PreparedCall | None = None  # of this bucket
        self.pending = 0  # gradients that are not in it yet
        self.is_averaged = False

    @property
    def nbytes(self) -> int:
        return self.flat.array.nbytes

    def as_seen_by_hooks(self, is_last: bool) -> GradBucket:
        return GradBucket(self.index, self.flat, self.views, self.parameters, is_last)


def outermost() -> engine.BackwardPass | None:
    """The backward pass that this thread is in; of nested ones the first."""
    running = engine.current.get()
    return running if running is None or running.outer is None else passes.outermost()


def of(p: TensorBase) -> Tensor | None:
    """The parameter's gradient, or None."""
    running = outermost()
    return p._grad if running is None or running.kept is None else running.kept.get(p)


def keep(p: TensorBase, grad: Tensor | None) -> None:
    """Let this be the parameter's gradient; None: it has none."""
    running = outermost()
    if running is None or running.kept is None:
        p._grad = grad
    elif grad is None:
        running.kept.pop(p, None)
    else:
        running.kept[p] = grad


def put(p: TensorBase, view: Tensor, divisor: int | None, as_views: bool) -> None:
    """Write a parameter's gradient (zeros if it has none) into its place, divided if asked for."""
    grad, into = of(p), view.array
    if grad is None:
        into[...] = 0
        return
    if divisor is not None:
        np.divide(grad.array, into.dtype.type(divisor), out=into)
    elif grad is not view:
        into[...] = grad.array
    if as_views and grad is not view:
        give(p, view, as_views)


def give(p: TensorBase, view: Tensor, as_views: bool) -> None:
    """Let the parameter's gradient be what stands in the bucket: the window itself, or a copy."""
    grad = of(p)
    if as_views:
        keep(p, view)
        view.storage.version += 1
    elif grad is None:
        keep(p, _copied(p, view))
    else:
        grad.array[...] = view.array
        grad.storage.version += 1


def _copied(p: TensorBase, view: Tensor) -> Tensor:
    copy = base.new(Tensor, view.array.copy(), p.storage.device)
    if p.storage.device is not devices.CPU:
        ledger.retag(copy.array, p.storage.device, "gradient")
    return copy
