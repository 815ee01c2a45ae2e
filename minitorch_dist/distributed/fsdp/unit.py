"""One FSDP unit: parameters that are sharded, gathered and reduced together.

    at rest      this rank's shard only                                     ψ/P
    unshard      all_gather: every shard, the parameters look into it       ψ
    reshard      the gathered memory is given back                          ψ/P
    gradients    collect in one vector as long as the whole; when the last one of this backward
                 pass is there: reduce_scatter, and each rank keeps its shard of the mean

A parameter remains the same object all the time; what changes is the memory that it looks at. The
graph keeps views of the gathered memory, which comes back at the same address (see `pages`) before
backward reads it.

Stands on the public collectives, like any user's code.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

from minitorch_dist.distributed import tensor_collectives
from minitorch_dist.distributed.fsdp.api import ShardingStrategy
from minitorch_dist.distributed.fsdp.layout import Layout
from minitorch_dist.distributed.fsdp.pages import Pages
from minitorch_dist.distributed.process_group import ProcessGroup
from minitorch_dist.distributed.reduce_op import ReduceOp
from minitorch_dist.distributed.work import Work
from minitorch_dist.nn.modules.module import Module
from minitorch_dist.nn.parameter import Parameter
from minitorch_dist.tensors import base, devices, dtypes, engine, ledger
from minitorch_dist.tensors.base import Array
from minitorch_dist.tensors.storage import Storage
from minitorch_dist.tensors.tensor import Tensor

AVG = ReduceOp.AVG


class FlatParameter(Parameter):
    """This rank's shard of all parameters of a unit, one after another."""


class Place(NamedTuple):
    """Where a parameter is found in the tree of modules."""

    module: Module
    name: str
    fqn: str  # its dotted name below the unit's module


class Settings(NamedTuple):
    """What a unit is told when it is made."""

    group: ProcessGroup
    replicas: ProcessGroup | None  # HYBRID_SHARD: the ranks of other nodes that keep the same shard
    strategy: ShardingStrategy
    device: devices.device
    keep_originals: bool
    offload: bool
    param_dtype: dtypes.dtype | None
    reduce_dtype: dtypes.dtype | None
    keep_low_precision_grads: bool


class Reduction(NamedTuple):
    """A gradient on its way."""

    unit: Unit
    work: Work | None
    shard: Tensor  # where the mean arrives
    sent: Tensor  # what it is the mean of, alive until the work is done


class Unit:
    """The parameters in `places` (one list for each; several where it is shared)."""

    def __init__(self, places: Sequence[Sequence[Place]], settings: Settings) -> None:
        self.places, self.settings = [list(shared) for shared in places], settings
        self.originals = [getattr(shared[0].module, shared[0].name) for shared in self.places]
        _check_uniform(self.originals, self.names, settings.keep_originals)
        alone = settings.strategy is ShardingStrategy.NO_SHARD
        self.rank = 0 if alone else settings.group.rank()
        self.layout = Layout(
            [tuple(p.shape) for p in self.originals], 1 if alone else settings.group.size()
        )
        first = self.originals[0]
        kept = devices.CPU if settings.offload else settings.device
        self.compute_dtype = (settings.param_dtype or first.dtype).numpy
        self.flat = FlatParameter(
            base.new(Tensor, self._shard_of(self.originals), kept),
            requires_grad=any(p.requires_grad for p in self.originals),
        )
        self.is_copied = (
            self.layout.ranks > 1
            or self.compute_dtype != self.flat.array.dtype
            or kept is not settings.device
        )
        self.full = Pages(self.layout.padded, self.compute_dtype, settings.device, "parameter")
        self._full_storage: Storage | None = None
        self._gathering: Work | None = None
        self.is_whole = False
        self._gathered_version = 0
        self.synchronises = True  # False inside no_sync
        self.in_backward = False
        self.is_summoned = False
        self.times_gathered = 0
        self.gradient = Pages(self.layout.padded, self.compute_dtype, settings.device, "gradient")
        self.reduced: Tensor | None = None  # this rank's shard of the mean gradient
        self._missing = 0  # gradients of this pass that have not arrived
        self.handles = [
            p.register_post_accumulate_grad_hook(self._collected)
            for p in self.originals
            if p.requires_grad
        ]
        self.when_complete: Callable[[Unit], None] | None = None  # all gradients are there
        self.comm_hook: tuple[Any, Any] | None = None
        self._enter_tables()
        self.show_shards()

    @property
    def names(self) -> list[str]:
        return [shared[0].fqn for shared in self.places]

    def _shard_of(self, tensors: Sequence[Tensor]) -> Array:
        """This rank's part of the vector that these tensors make up."""
        flat = np.zeros(self.layout.padded, tensors[0].array.dtype)
        for number, tensor in enumerate(tensors):
            flat[self.layout.span(number)] = tensor.array.reshape(-1)
        start = self.rank * self.layout.shard
        return flat[start : start + self.layout.shard].copy()

    def _enter_tables(self) -> None:
        """Without `keep_originals` the modules know their parameters as plain attributes."""
        if self.settings.keep_originals:
            return
        for shared, p in zip(self.places, self.originals, strict=True):
            for place in shared:
                place.module._parameters.pop(place.name, None)
                place.module.__dict__[place.name] = p

    # --------------------------------------------------------------------- whole and in shards again

    def prefetch(self) -> None:
        """Begin to gather the parameters, beside what is computed."""
        if self.is_whole or self._gathering is not None or not self.is_copied:
            return
        whole = self.full.take()
        device = self.settings.device
        self.times_gathered += 1
        self._gathered_version = self.flat.storage.version
        shard = self.flat.array.astype(self.compute_dtype, copy=False)
        if self.layout.ranks == 1:
            whole[:] = shard
        else:
            self._gathering = tensor_collectives.all_gather_into_tensor(
                base.new(Tensor, whole, device),
                base.new(Tensor, shard, device),
                self.settings.group,
                async_op=True,
            )

    def unshard(self) -> None:
        """Return when the parameters are whole."""
        if self.is_whole:
            if self._gathered_version == self.flat.storage.version or self.in_backward:
                return
            self.reshard()  # somebody has written into the shards since
        self.prefetch()
        work, self._gathering = self._gathering, None
        if work is not None:
            work.wait()
        self.is_whole = True
        whole = self.full.array if self.is_copied else self.flat.array
        if self._full_storage is None:
            self._full_storage = (
                Storage(whole, self.settings.device) if self.is_copied else self.flat.storage
            )
        for number, p in enumerate(self.originals):
            self._point(p, whole[self.layout.span(number)].reshape(self.layout.shapes[number]),
                        self._full_storage)  # fmt: skip

    def reshard(self) -> None:
        """Give back what was gathered."""
        if self._gathering is not None:
            self._gathering.wait()
            self._gathering = None
            self.full.give_back()
        if self.is_whole:
            self.is_whole = False
            self.full.give_back()
            self.show_shards()

    def show_shards(self) -> None:
        if not self.is_copied and not self.settings.keep_originals:
            self.unshard()  # the shard is the whole: nothing to hide
            return
        for number, p in enumerate(self.originals):
            piece = self.layout.piece(number, self.rank)
            array = self.flat.array[piece.offset : piece.offset + piece.length]
            if not self.is_copied:
                array = array.reshape(self.layout.shapes[number])
            self._point(p, array, self.flat.storage)

    def _point(self, p: Parameter, array: Array, storage: Storage) -> None:
        p.array, p.storage = array, storage
        if p._accumulate is not None:
            p._accumulate.device = storage.device

    def gathered(self) -> Array:
        """The whole vector in the type that is kept, for those who look. Collective."""
        if self.layout.ranks == 1:
            return self.flat.array
        whole = np.empty(self.layout.padded, self.flat.array.dtype)
        tensor_collectives.all_gather_into_tensor(
            base.new(Tensor, whole), base.new(Tensor, self.flat.array), self.settings.group
        )
        return whole

    def show(self, whole: Array, device: devices.device) -> None:
        """Let the parameters look into a vector that somebody else has gathered."""
        storage = Storage(whole, device)
        for number, p in enumerate(self.originals):
            shape = self.layout.shapes[number]
            self._point(p, whole[self.layout.span(number)].reshape(shape), storage)

    def put(self, whole: Array) -> None:
        """The shards take the values of the whole vector."""
        start = self.rank * self.layout.shard
        own = whole[start : start + self.layout.shard]
        if own.ctypes.data != self.flat.array.ctypes.data:
            self.flat.array[...] = own
        self.flat.storage.version += 1

    # ------------------------------------------------------------------------------------- backward

    def before_backward(self, version: int) -> None:
        """A gradient has come to what this unit computed."""
        if self.in_backward:
            return
        if self.flat.storage.version != version:
            raise RuntimeError(
                "one of the variables needed for gradient computation has been modified by an "
                f"inplace operation: the parameters {', '.join(self.names[:3])} … of an FSDP unit "
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

        What an earlier pass left there (in no_sync) stays, unless it was set to None since.
        """
        shown = [p._grad for p in self._shown()]
        if all(grad is None for grad in shown):
            self.reduced = None
            self.gradient.give_back()
        elif not self.gradient.is_held:
            self._take_back()
        whole = self.gradient.take(zeros=True)
        for number, p in enumerate(self.originals):
            shape, device = self.layout.shapes[number], self.settings.device
            p._grad = None
            if any(p is other for other in expected):
                view = whole[self.layout.span(number)].reshape(shape)
                p._grad = base.new(Tensor, view, device)

    def _take_back(self) -> None:
        """The user may have put other gradients in the place of those that were shown."""
        if not self.settings.keep_originals:
            self.reduced = self.flat._grad
            return
        if self.reduced is None:
            zeros = np.zeros_like(self.flat.array)
            self.reduced = base.new(Tensor, zeros, self.flat.storage.device)
        for number, p in enumerate(self.originals):
            piece = self.layout.piece(number, self.rank)
            own = self.reduced.array[piece.offset : piece.offset + piece.length]
            if p._grad is None:
                own[...] = 0
            elif p._grad.storage is not self.reduced.storage:
                own[...] = p._grad.array.reshape(-1)

    def _shown(self) -> Sequence[Parameter]:
        """The parameters that the user and the optimizer see."""
        if self.settings.keep_originals:
            return [p for p in self.originals if p.requires_grad]
        return [self.flat]

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

    def after_backward(self) -> Reduction | None:
        """All gradients are there: begin to reduce them. The parameters are needed no more."""
        self.in_backward, self._missing = False, 0
        self.reshard()
        if not self.synchronises:
            self._show_whole_gradient()
            return None
        settings, whole = self.settings, self.gradient.array
        for p in self.originals:
            p._grad = None
        dtype = (settings.reduce_dtype or settings.param_dtype or self.flat.dtype).numpy
        sent = base.new(Tensor, whole.astype(dtype, copy=False), settings.device)
        if self.layout.ranks == 1 and settings.group.size() > 1:
            work = self._average(sent)
            shard = sent
        else:
            shard = base.new(Tensor, np.empty(self.layout.shard, dtype), settings.device)
            work = self._scatter(shard, sent)
        return Reduction(self, work, shard, sent)

    def _average(self, whole: Tensor) -> Work | None:
        """NO_SHARD: as DDP does."""
        if self.comm_hook is not None:
            state, hook = self.comm_hook
            hook(state, whole)
            return None
        return tensor_collectives.all_reduce(whole, AVG, self.settings.group, async_op=True)

    def _scatter(self, shard: Tensor, whole: Tensor) -> Work | None:
        if self.comm_hook is not None:
            state, hook = self.comm_hook
            hook(state, whole, shard)
            return None
        return tensor_collectives.reduce_scatter_tensor(
            shard, whole, AVG, self.settings.group, async_op=True
        )

    def take_reduced(self, reduction: Reduction) -> None:
        """The mean has arrived: add it to what is there, and show it."""
        if reduction.work is not None:
            reduction.work.wait()
        shard, settings = reduction.shard, self.settings
        if settings.replicas is not None:
            tensor_collectives.all_reduce(shard, AVG, settings.replicas)
        own = self.flat.array.dtype
        if settings.keep_low_precision_grads:
            own = shard.array.dtype
        array = shard.array.astype(own, copy=False)
        self.gradient.give_back()
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
        reduced = self.reduced
        if not self.settings.keep_originals:
            self.flat._grad = reduced
            return
        assert reduced is not None
        for number, p in enumerate(self.originals):
            piece = self.layout.piece(number, self.rank)
            array = reduced.array[piece.offset : piece.offset + piece.length]
            if p.requires_grad:
                view = base.new(Tensor, array.reshape(p.array.shape), reduced.device)
                view.storage = reduced.storage
                p._grad = view

    def _show_whole_gradient(self) -> None:
        """In no_sync gradients stay as they are; the optimizer is not meant to run."""
        if not self.settings.keep_originals:
            for p in self.originals:
                p._grad = None
            self.flat._grad = base.new(Tensor, self.gradient.array, self.settings.device)

    # ---------------------------------------------------------------------------- for those who look

    def pieces(self) -> Iterator[tuple[str, Parameter, Array]]:
        """For each parameter its name, and this rank's part of it."""
        for number, (name, p) in enumerate(zip(self.names, self.originals, strict=True)):
            piece = self.layout.piece(number, self.rank)
            yield name, p, self.flat.array[piece.offset : piece.offset + piece.length]

    def __repr__(self) -> str:
        state = "whole" if self.is_whole else "sharded"
        return (
            f"<Unit of {', '.join(self.names[:3])}{' …' if len(self.names) > 3 else ''}: "
            f"{self.layout.total} elements, {self.layout.ranks} shards of {self.layout.shard}, {state}>"
        )


def _check_uniform(params: Sequence[Parameter], names: Sequence[str], mixed: bool) -> None:
    """One vector has one dtype; and one flat parameter is trained or is not."""
    kinds = {str(p.dtype) for p in params}
    if len(kinds) > 1:
        listed = ", ".join(f"{n}: {p.dtype}" for n, p in zip(names, params, strict=True))
        raise ValueError(
            f"Must flatten tensors with uniform dtype but got {', '.join(sorted(kinds))} ({listed}). "
            "Wrap them in FSDP units of their own, or convert the module first."
        )
    if not mixed and len({p.requires_grad for p in params}) > 1:
        frozen = [n for n, p in zip(names, params, strict=True) if not p.requires_grad]
        raise ValueError(
            "Must flatten tensors with uniform `requires_grad` when `use_orig_params=False`; frozen "
            f"are {', '.join(frozen)}. Pass use_orig_params=True, or wrap the frozen ones apart."
        )
