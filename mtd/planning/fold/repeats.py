"""Micro-batches repeat each other: a recorded rank runs a few of them, and notes for the rest what those did.

    number    0      1      2      3      4   …   last
              runs   runs   runs   ───── noted ───── runs
                     └─ the same acts, bytes and FLOP: else CannotFold

A stretch is a part of the program that is called with a number, such as the forward pass of one micro-batch. The first ones gather
parameters and make gradients, and the last one reduces them. Those between do the same with other numbers, which nobody has
here. A stretch that is noted appends the acts of number 2 to the trace. It changes the ledger as that one did: so many bytes more or less
in each category, and so many for a moment. Results are new tensors of the same shapes. Where an earlier run has proved the roles, it
has compared numbers 1 and 2, too: then number 2 is noted as well.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final

import minitorch_dist as torch
from minitorch_dist.distributed import world
from minitorch_dist.tensors import ledger, pools
from minitorch_dist.tensors.core.base import TensorBase
from minitorch_dist.tensors.ledger_report import MemoryWatch
from minitorch_dist.tensors.tensor import Tensor
from mtd.planning.fold.acts import CollectiveBegun, NotedMessage, WorkAwaited
from mtd.planning.fold.roles import CannotFold
from mtd.planning.fold.trace import NotingStream, OperationTrace

FIRST: Final = 3  # so many run, and the last one; one less where it is proved that they repeat
Bytes = dict[str, int]  # by category


@dataclass
class Stretch:
    """All that a stretch did: its acts, the change of the ledger, its peak above the start, FLOP, and its results."""

    acts: list[Any]
    change: Bytes
    peak: Bytes
    flops: dict[str, int]
    again: int
    results: list[tuple[Any, str] | None]  # tensors without their bytes, and their categories
    is_one: bool  # one result, and not a tuple

    def same(self, other: Stretch) -> bool:
        return (
            len(self.acts) == len(other.acts)
            and all(_alike(a, b) for a, b in zip(self.acts, other.acts, strict=True))
            and (self.change, self.peak, self.flops, self.again, self.is_one)
            == (other.change, other.peak, other.flops, other.again, other.is_one)
        )


class RepeatedStretches:
    """The stretches of one recorded rank. `count`: how many micro-batches there are."""

    def __init__(self, trace: OperationTrace, stream: NotingStream, count: int) -> None:
        self.trace, self.stream, self.count = trace, stream, count
        self._first = FIRST - trace.is_proved
        self._ran: dict[str, Stretch] = {}

    def is_run(self, number: int) -> bool:
        return number < self._first or number == self.count - 1

    def __call__(self, name: str, number: int, run: Callable[[], Any], drop: Callable[[], Any] | None = None) -> Any:
        """`run()`, or what it did before. `drop` gives up what `run` would have given up."""
        self.trace.acts.close()
        if not self.is_run(number):
            return self._note(self._ran[name], drop)
        if not 1 <= number < self._first:
            result = run()
            self.trace.acts.close()
            return result
        stretch, result = self._watched(run)
        before = self._ran.get(name)
        if before is not None and not before.same(stretch):
            raise CannotFold(f"micro-batches {number - 1} and {number} differ in {name}")
        self._ran[name] = stretch
        return result

    def _watched(self, run: Callable[[], Any]) -> tuple[Stretch, Any]:
        trace, stream, book, watch = self.trace, self.stream, ledger.of("cuda"), MemoryWatch()
        start, flops, again, before = len(trace.acts), dict(stream.flops), stream.again, book.snapshot()
        watch.peak, watch.by_category = before.live, dict(before.by_category)
        book.watches.append(watch)
        result = run()
        trace.acts.close()
        book.watches.remove(watch)
        change, peak = (_less(now, before.by_category) for now in (book.snapshot().by_category, watch.by_category))
        is_one = not isinstance(result, tuple)
        found = [
            (_Like(each), book.category_of(each.array)) if isinstance(each, TensorBase) else None
            for each in ((result,) if is_one else result)
        ]
        acts, more, once = trace.acts[start:], _less(stream.flops, flops), stream.again - again
        stretch = Stretch(acts, change, peak, more, once, found, is_one)
        begun = [w for a in acts if (w := getattr(a, "work", None)) is not None and not isinstance(a, WorkAwaited)]
        if sorted(begun) != sorted(a.work for a in acts if isinstance(a, WorkAwaited)):
            raise CannotFold("a micro-batch waits for what another one has begun")
        return stretch, result

    def _note(self, stretch: Stretch, drop: Callable[[], Any] | None) -> Any:
        self.trace.acts.extend(stretch.acts)
        stream, book = self.stream, ledger.of("cuda")
        for dtype, count in stretch.flops.items():
            stream.flops[dtype] = stream.flops.get(dtype, 0) + count
        stream.again += stretch.again
        book.passed(stretch.peak)
        before = book.snapshot().by_category
        if drop is not None:
            drop()
        made = tuple(None if each is None else each[0].made(each[1]) for each in stretch.results)
        book.change(_less(stretch.change, _less(book.snapshot().by_category, before)))
        return made[0] if stretch.is_one else made

    def __repr__(self) -> str:
        return f"<RepeatedStretches of {self.count} micro-batches: {', '.join(self._ran)}>"


class _Like:
    """A tensor's shape and kind."""

    def __init__(self, tensor: Any) -> None:
        self.shape, self.dtype, self.device = tuple(tensor.shape), tensor.dtype, tensor.device
        self.requires_grad = tensor.requires_grad

    def made(self, category: str) -> Tensor:
        with ledger.category(category):
            return torch.empty(self.shape, dtype=self.dtype, device=self.device, requires_grad=self.requires_grad)


def _alike(one: Any, other: Any) -> bool:
    if isinstance(one, CollectiveBegun) and isinstance(other, CollectiveBegun):
        return one.kind is other.kind and (one.work is None) == (other.work is None)
    if isinstance(one, WorkAwaited | NotedMessage):
        return type(one) is type(other)
    return bool(one == other)


def _less(one: Bytes, other: Bytes) -> Bytes:
    return {name: one.get(name, 0) - other.get(name, 0) for name in {*one, *other}}


def of(count: int) -> RepeatedStretches | None:
    """Those of the caller, if it is a rank with a device that is recorded, and if there are enough micro-batches; else None. A
    timeline tells the memory after each operation, so then all of them run."""
    trace = world.current().trace
    is_recorded = isinstance(trace, OperationTrace) and trace.told is None and pools.count()
    if not is_recorded or trace.stream is None or count <= FIRST + 1:
        return None
    return RepeatedStretches(trace, trace.stream, count)
