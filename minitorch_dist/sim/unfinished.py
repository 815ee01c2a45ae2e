"""Tensors of operations that are not over: who uses one while exploring is told which operation, and at which line.

    work = dist.irecv(y, 0)                     from here to wait() the tensor is the operation's
    y.sum()                                     ReadTooEarly names this line, and that of irecv

    for rank in others: irecv(y, rank)          one tensor for several: the message that comes last stays
    y.sum()                                     ReceivedAtOnce names this line, and those of both

An operation counts as over once the program has heard so: by `wait()` or `is_completed()` of its own, or of a later
one if it was over then. Many libraries move nothing while nobody calls them (MPI calls it weak progress). So it does not matter
when the message came, and a program is accused in every run or in none.

The operations on tensors tell what they read and write (`tensors.core.observers`). Sends tell so themselves.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any, NamedTuple

import numpy as np

from minitorch_dist.distributed import world
from minitorch_dist.distributed.callsite import callsite
from minitorch_dist.distributed.overlaps import share_elements
from minitorch_dist.distributed.work import Work
from minitorch_dist.distributed.world import World
from minitorch_dist.optim.optimizer import Optimizer, register_optimizer_step_pre_hook
from minitorch_dist.sim.attachments import RunPart
from minitorch_dist.sim.stage import SimulationStage
from minitorch_dist.tensors.core import observers
from minitorch_dist.tensors.core.base import TensorBase
from minitorch_dist.tensors.storages import root
from transports.errors import ReadTooEarly, ReceivedAtOnce


class Unfinished(NamedTuple):
    """A tensor into which an operation writes until it is over."""

    work: Work
    tensor: TensorBase


class Collision:
    """A tensor into which several operations wrote at once."""

    def __init__(self, tensor: TensorBase, first: Work) -> None:
        self.tensor, self.works = tensor, [first]
        self._before = tensor.storage.version - first.is_written()  # writes that it had counted

    def is_left(self) -> bool:
        """Whether what they left is still there: nothing else has written to it."""
        written = sum(work.is_written() for work in self.works)
        return self.tensor.storage.version <= self._before + written


class UnfinishedTensors:
    """Of one rank (`World.unfinished`)."""

    def __init__(self, rank: int) -> None:
        self.rank = rank
        self._open: list[Unfinished] = []
        self._collisions: list[Collision] = []

    def began(self, work: Work) -> None:
        """Something began that writes into its output."""
        self._forget()
        written = [each for each in work.output or () if isinstance(each, TensorBase)]
        for tensor in written:
            for other in self._open:
                if other.work.queue() != work.queue() and share_elements(other.tensor.array, tensor.array):
                    self._collide(other, work)
        self._open += [Unfinished(work, tensor) for tensor in written]

    def heard(self) -> None:
        """The program was told that something is over. So is what was over before."""
        self._open = [one for one in self._open if not one.work.is_done()]

    def used(self, arrays: Sequence[Any], verb: str = "read") -> None:
        """The program uses these arrays: an error if an operation has them, or left them to chance."""
        if not (self._open or self._collisions):
            return
        self._forget()
        for array in arrays:
            for collision in self._collisions:
                if share_elements(collision.tensor.array, array):
                    first, second, *_ = (work.describe() for work in collision.works)
                    raise ReceivedAtOnce(self.rank, callsite(), first, second)
            for one in self._open:
                if share_elements(one.tensor.array, array):
                    raise ReadTooEarly(self.rank, verb, callsite(), one.work.describe())

    def _collide(self, other: Unfinished, work: Work) -> None:
        """Note that both write at once. The other may have met a third one already."""
        known = [found for found in self._collisions if other.work in found.works]
        if not known:
            known = [Collision(other.tensor, other.work)]
            self._collisions += known
        if work not in known[0].works:
            known[0].works.append(work)

    def _forget(self) -> None:
        self._open = [one for one in self._open if not one.work.is_awaited]
        self._collisions = [one for one in self._collisions if one.is_left()]

    def __repr__(self) -> str:
        return f"<UnfinishedTensors of rank {self.rank}: {len(self._open)}>"


class LookingOn(RunPart):
    """While a run lasts, the operations on tensors tell what they use."""

    @contextmanager
    def around_run(self) -> Iterator[None]:
        hook = register_optimizer_step_pre_hook(_stepping)
        observers.watch("operations", _operated, True)
        try:
            yield
        finally:
            observers.watch("operations", _operated, False)
            hook.remove()


def watched(stage: SimulationStage) -> RunPart:
    """Attaches to a run: its ranks are told where they use a tensor too early."""
    stage.entered.append(_enter)
    return LookingOn()


def _enter(here: World) -> None:
    here.unfinished = UnfinishedTensors(here.rank)


def _mine() -> UnfinishedTensors | None:
    here = world.place().world
    found = None if here is None else here.unfinished
    assert found is None or isinstance(found, UnfinishedTensors)
    return found


def _operated(name: str, reads: Sequence[Any], writes: Sequence[Any]) -> None:
    mine = _mine()
    if mine is None:
        return
    if name == "InPlace":
        mine.used(writes, "wrote to")
    made = () if name == "InPlace" else [id(root(each)) for each in writes if isinstance(each, np.ndarray)]
    mine.used([each for each in reads if isinstance(each, np.ndarray) and id(root(each)) not in made])


def _stepping(optimizer: Optimizer, args: Any, kwargs: Any) -> None:
    mine = _mine()
    if mine is not None:
        every = [p for group in optimizer.param_groups for p in group["params"]]
        mine.used([p._grad.array for p in every if p._grad is not None])
