"""One FSDP unit: parameters that are sharded, gathered and reduced together.

    gradients    collect in one vector as long as the whole; when the last one of this backward
                 pass is there: reduce_scatter, and each rank keeps its shard of the mean

See `gathering` for the parameters, and `prefetch` for what calls this when. One unit in its simplest form: lesson 21.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from minitorch_dist.distributed.fsdp.gathering import Gathered, ParameterSlot, Settings
from minitorch_dist.distributed.fsdp.pages import Pages
from minitorch_dist.distributed.reduce_op import ReduceOp
from minitorch_dist.distributed.torch_api import tensor_collectives
from minitorch_dist.distributed.work import Work
from minitorch_dist.nn.parameter import Parameter
from minitorch_dist.tensors import devices, ledger
from minitorch_dist.tensors.core import base, engine, observers
from minitorch_dist.tensors.core.base import Array
from minitorch_dist.tensors.tensor import Tensor

__all__ = ["ParameterSlot", "PendingReduction", "Settings", "Unit"]


class PendingReduction(NamedTuple):
    """A gradient on its way."""

    unit: Unit
    work: Work | None
    shard: Tensor  # where the mean arrives
    sent: Tensor  # the tensor it is the mean of, alive until the work is done


class Unit(Gathered):
    """Parameters and their gradients."""

    def __init__(self, places: Sequence[Sequence[ParameterSlot]], settings: Settings) -> None:
        super().__init__(places, settings)
        self.synchronises = True  # False inside no_sync
        self._make_gradients()
        self.reduced: Tensor | None = None  # this rank's shard of the mean gradient
        self.sums_replicas = True
        self.unsummed: Tensor | None = None  # what earlier passes have left to sum over replicas
        self._missing = 0  # gradients of this pass that have not arrived
        for p in self.originals:
            if p.requires_grad:
                p.register_post_accumulate_grad_hook(self._collected)
        self.when_complete: Callable[[Unit], None] | None = None  # all gradients are there
        self.stays_after_backward = False
        self.algorithm: str | None = None  # of sums over replicas; None: as links and sizes say
        self.ahead: dict[str, list[Unit]] = {"forward": [], "backward": []}  # what to fetch with it

    def _make_gradients(self) -> None:
        """Without memory. `collected` is where `fully_shard` adds up passes without messages, if the gradients of a pass have
        fewer bits than what is reduced."""
        settings, length = self.settings, self.layout.length
        self.gradient = Pages(length, self.compute_dtype, settings.device, "gradient")
        self.collected: Pages | None = None
        precision = settings.precision
        if settings.by_rows and precision.reduce_dtype not in (None, precision.param_dtype):
            dtype = precision.reduce_dtype.numpy
            self.collected = Pages(length, dtype, settings.device, "gradient")

    def _settle_on(self, device: devices.device) -> None:
        super()._settle_on(device)
        self._make_gradients()

    def before_backward(self, version: int) -> None:
        """A gradient has come to what this unit computed."""
        if self.in_backward:
            return
        if self.flat.storage.version != version:
            raise RuntimeError(
                "one of the variables needed for gradient computation has been modified by an "
                f"inplace operation. The parameters {', '.join(self.names[:3])} … of an FSDP unit "
                "were changed (by optimizer.step()?) between its forward and its backward"
            )
        self.in_backward = True
        self.unshard()
        running = engine.current.get()
        assert running is not None
        expected = [
            p
            for p in self.originals
            if p._accumulate is not None and p.requires_grad and running.reaches(p._accumulate)
        ]
        self._missing = len(expected)
        if expected:
            self._make_room_for(expected)

    def _make_room_for(self, expected: Sequence[Parameter]) -> None:
        """One vector for all gradients of the unit; the engine adds to views of it.

        The gradients of an earlier pass (in no_sync) stay, unless they were set to None since.
        """
        shown = [p._grad for p in self.originals if p.requires_grad]
        if all(grad is None for grad in shown):
            self.reduced = None
            self._give_back()
        elif not (self.gradient.is_held or (self.collected and self.collected.is_held)):
            self._take_back()
        wholes = self.wholes_in(self.gradient.take(zeros=True))
        for p, view in zip(self.originals, wholes, strict=True):
            is_expected = any(p is other for other in expected)
            p._grad = base.new(Tensor, view, self.settings.device) if is_expected else None

    def _take_back(self) -> None:
        """The user may have put other gradients in the place of those that were shown."""
        if self.reduced is None:
            zeros = np.zeros_like(self.flat.array)
            self.reduced = base.new(Tensor, zeros, self.flat.storage.device)
        for p, own in zip(self.originals, self.pieces_in(self.reduced.array), strict=True):
            if p._grad is None:
                own[...] = 0
            elif p._grad.storage is not self.reduced.storage:
                own[...] = p._grad.array

    @property
    def is_collecting(self) -> bool:
        """Whether gradients of this pass have been promised and have not all arrived."""
        return self._missing > 0

    def _collected(self, _: Tensor) -> None:
        """A parameter has its gradient of this pass."""
        if self.in_backward:
            self._missing -= 1
            if self._missing == 0 and self.when_complete is not None:
                self.when_complete(self)

    def after_backward(self) -> PendingReduction | None:
        """All gradients are there: begin to reduce them. The parameters are needed no more."""
        self.in_backward, self._missing = False, 0
        if not self.stays_after_backward:
            self.reshard()
        if not self.synchronises:
            self._show_whole_gradient()
            return None
        settings, whole = self.settings, self._with_earlier_passes()
        for p in self.originals:
            p._grad = None
        precision = settings.precision
        dtype = (precision.reduce_dtype or precision.param_dtype or self.flat.dtype).numpy
        sent = base.new(Tensor, self.layout.divided(whole).astype(dtype, copy=False), settings.device)
        if self.layout.ranks == 1 and settings.group.size() > 1:  # NO_SHARD: as DDP does
            work = tensor_collectives.all_reduce(sent, ReduceOp.AVG, settings.group, async_op=True)
            return PendingReduction(self, work, sent, sent)
        shard = base.new(Tensor, self._room_for_sums(dtype, whole), settings.device)
        work = tensor_collectives.reduce_scatter_tensor(
            self._without_padding(shard), sent, ReduceOp.AVG, settings.group, async_op=True
        )
        return PendingReduction(self, work, shard, sent)

    def _with_earlier_passes(self) -> Array:
        """The gradients of this pass, added to those of earlier ones without messages."""
        if self.collected is None or not self.collected.is_held:
            return self.gradient.array  # the engine has added to what was there
        self.collected.array += self.gradient.array
        self.gradient.give_back()
        return self.collected.array

    def _give_back(self) -> None:
        self.gradient.give_back()
        if self.collected is not None:
            self.collected.give_back()

    def _room_for_sums(self, dtype: np.dtype[Any], like: Array) -> Array:
        """Room for this rank's shard. Replicas sum it in chunks, one for each of them. It is padded so that chunks are
        equal, and a ring ends on all of them at once."""
        shard, replicas = self.layout.shard, self.settings.replicas
        count = 1 if replicas is None else replicas.size()
        room = np.empty(-(-shard // count) * count, dtype, like=like)
        room[shard:] = 0
        return room

    def _without_padding(self, room: Tensor) -> Tensor:
        """The shard in that room."""
        if room.array.size == self.layout.shard:
            return room
        return room[: self.layout.shard]

    def take_reduced(self, reduction: PendingReduction) -> None:
        """The mean has arrived: add it to what is there, and show it."""
        if reduction.work is not None:
            reduction.work.wait()
        shard, settings = reduction.shard, self.settings
        if settings.replicas is not None:
            if self.unsummed is not None:
                shard.array += self.unsummed.array
            self.unsummed = None if self.sums_replicas else shard
            if not self.sums_replicas:
                self._give_back()
                return
            tensor_collectives.all_reduce(shard, ReduceOp.AVG, settings.replicas, algorithm=self.algorithm)
        shard = self._without_padding(shard)
        array = shard.array.astype(self.flat.array.dtype, copy=False)
        if settings.offload and observers.copies.on:
            observers.copies.tell(self, array.nbytes, True)
        self._give_back()
        if self.reduced is None:
            if array is shard.array and reduction.sent is shard:  # NO_SHARD: the pages themselves
                array = array.copy()
            self.reduced = base.new(Tensor, array, self.flat.storage.device)
            if self.reduced.storage.device is not devices.CPU:
                ledger.retag(array, self.reduced.storage.device, "gradient")
        else:
            self.reduced.array += array
        self._show_reduced()

    def _show_reduced(self) -> None:
        assert self.reduced is not None
        for p, own in zip(self.originals, self.pieces_in(self.reduced.array), strict=True):
            if p.requires_grad:
                p._grad = base.bare(Tensor, own, self.reduced.storage)

    def _show_whole_gradient(self) -> None:
        """In no_sync gradients stay as they are; the optimizer is not meant to run."""
        if self.collected is not None:
            self.collected.take(zeros=True)
            wholes = self.wholes_in(self._with_earlier_passes())
            for p, view in zip(self.originals, wholes, strict=True):
                if p._grad is not None:
                    p._grad = base.new(Tensor, view, self.settings.device)
