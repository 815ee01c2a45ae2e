"""The parameters of one FSDP unit: kept in shards, whole for as long as they are needed.

    at rest      this rank's shard only                                     ψ/P
    unshard      all_gather: every shard, the parameters look into it       ψ
    reshard      the gathered memory is given back                          ψ/P

A parameter remains the same object all the time; only the memory that it looks at changes. The
graph keeps views of the gathered memory, which comes back at the same address (see `pages`) before
backward reads it.

This module uses only the public collectives, like any user's code.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from minitorch_dist.distributed.fsdp.options import Precision
from minitorch_dist.distributed.fsdp.pages import Pages
from minitorch_dist.distributed.fsdp.shard_layout import Layout, RowLayout
from minitorch_dist.distributed.groups import ProcessGroup
from minitorch_dist.distributed.torch_api import tensor_collectives
from minitorch_dist.distributed.work import Work
from minitorch_dist.nn.modules.module import Module
from minitorch_dist.nn.parameter import Parameter
from minitorch_dist.tensors import devices
from minitorch_dist.tensors.core import base, observers
from minitorch_dist.tensors.core.base import Array, Storage
from minitorch_dist.tensors.tensor import Tensor

EMPTY = np.empty(0, np.uint8)


class ParameterSlot(NamedTuple):
    """Where a parameter is found in the tree of modules."""

    module: Module
    name: str
    fqn: str  # its dotted name below the unit's module


class Settings(NamedTuple):
    """The settings that a unit is given when it is made."""

    group: ProcessGroup
    replicas: ProcessGroup | None  # HYBRID_SHARD: the ranks of other nodes that keep the same shard
    device: devices.device
    offload: bool  # shards stay on the CPU
    precision: Precision
    is_cut: bool = True  # False: every rank keeps all, as under DDP
    by_rows: bool = False  # cut along rows of each parameter (`fully_shard`), or anywhere in a vector


class Gathered:
    """The parameters in `places` (one list for each; several where it is shared), whole or in shards."""

    def __init__(self, places: Sequence[Sequence[ParameterSlot]], settings: Settings) -> None:
        self.places, self.settings = [list(shared) for shared in places], settings
        self.originals = [getattr(shared[0].module, shared[0].name) for shared in self.places]
        _check_uniform(self.originals, self.names)
        self.rank = settings.group.rank() if settings.is_cut else 0
        kind = RowLayout if settings.by_rows else Layout
        self.layout = kind(
            [tuple(p.array.shape) for p in self.originals], settings.group.size() if settings.is_cut else 1
        )
        first = self.originals[0]
        kept = devices.CPU if settings.offload else settings.device
        self.compute_dtype = (settings.precision.param_dtype or first.dtype).numpy
        self.flat = Parameter(
            base.new(Tensor, self._shard_of(self.originals), kept),
            requires_grad=any(p.requires_grad for p in self.originals),
        )
        self.is_copied = (
            self.layout.ranks > 1 or self.compute_dtype != self.flat.array.dtype or kept is not settings.device
        )
        self.full = Pages(self.layout.length, self.compute_dtype, settings.device, "parameter")
        self._full_storage: Storage | None = None
        self._gathering: Work | None = None
        self.is_whole = False
        self.classes: tuple[type[Parameter], type[Parameter]] | None = None  # at rest, and whole
        self._gathered_version = 0
        self._arriving = EMPTY
        self._leaving: Tensor | None = None  # our part of it
        self.in_backward = False
        self.is_summoned = False
        self.times_gathered = 0
        if self.is_copied and self.layout.ranks > 1:
            self._prepare()
        self.show_shards()

    def materialise(self) -> devices.device:
        """Parameters that were sharded on `meta` have got memory since: let them look into one shard again. Returns where."""
        lacking = [name for name, p in zip(self.names, self.originals, strict=True) if p.storage.device is devices.META]
        if lacking:
            raise RuntimeError(
                "FSDP parameters should be materialized from meta device before training, but the "
                f"following were still on meta device: {lacking}.\nFor example, call "
                "module.to_empty(device) to materialize to device and call module.reset_parameters() "
                "on each module to initialize values."
            )
        device: devices.device = self.originals[0].storage.device
        self._settle_on(device)
        return device

    def _settle_on(self, device: devices.device) -> None:
        self.settings = self.settings._replace(device=device)
        kept = devices.CPU if self.settings.offload else device
        shard = np.zeros(self.layout.shard, self.originals[0].array.dtype)
        for piece, p in zip(self.pieces_in(shard), self.originals, strict=True):
            piece[...] = p.array.reshape(piece.shape)
        self.flat.array, self.flat.storage = shard, Storage(shard, kept)
        if self.settings.replicas is not None:
            tensor_collectives.broadcast(self.flat.detach(), group=self.settings.replicas, group_src=0)
        self.is_copied = self.is_copied or kept is not device
        self.full = Pages(self.layout.length, self.compute_dtype, device, "parameter")
        self.show_shards()

    @property
    def names(self) -> list[str]:
        return [shared[0].fqn for shared in self.places]

    def _shard_of(self, tensors: Sequence[Tensor]) -> Array:
        """This rank's part of the vector that these tensors make up."""
        whole = np.zeros(self.layout.length, tensors[0].array.dtype, like=tensors[0].array)
        for place, tensor in zip(self.wholes_in(whole), tensors, strict=True):
            place[...] = tensor.array
        return self.layout.part(whole, self.rank).copy()

    # --------------------------------------------------------------------- whole and in shards again

    def _prepare(self) -> None:
        """Choose the way to gather as soon as the sizes are known. The first forward finds it prepared."""
        shard = np.empty(self.flat.array.shape, self.compute_dtype)
        tensor_collectives.prepare_all_gather(self._room(self.full.array), shard, self.settings.group)

    def prefetch(self) -> None:
        """Begin to gather the parameters, beside what is computed."""
        if self.full.is_held or not self.is_copied:
            return
        whole = self.full.take()
        device = self.settings.device
        self.times_gathered += 1
        self._gathered_version = self.flat.storage.version
        if self.settings.offload and observers.copies.on:
            observers.copies.tell(self, self.flat.array.nbytes, False)
        shard = self.flat.array.astype(self.compute_dtype, copy=False)
        if self.layout.ranks == 1:
            whole[:] = self.layout.divided(shard)[: len(whole)]
            return
        self._arriving = self._room(whole)
        self._leaving = base.new(Tensor, shard, device)  # there until all of it was waited for
        self._gathering = tensor_collectives.all_gather_into_tensor(
            base.new(Tensor, self._arriving, device), self._leaving, self.settings.group, async_op=True
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
            if self.layout.rearranges:
                self.layout.joined(self._arriving, self.full.array)
            self._arriving, self._leaving = EMPTY, None
        if self.settings.offload and observers.copies.on:
            observers.copies.tell(self, None, False)
        self.is_whole = True
        whole = self.full.array if self.is_copied else self.flat.array
        if self._full_storage is None:
            self._full_storage = Storage(whole, self.settings.device) if self.is_copied else self.flat.storage
        self._show(self.wholes_in(whole), self._full_storage, 1)

    def reshard(self) -> None:
        """Give back what was gathered."""
        if self._gathering is not None:
            self._gathering.wait()
            self._gathering = self._leaving = None
            self.full.give_back()
        if self.is_whole:
            self.is_whole = False
            self.full.give_back()
            self.show_shards()

    def show_shards(self) -> None:
        self._show(self.pieces_in(self.flat.array), self.flat.storage, 0)

    def _show(self, arrays: Sequence[Array], storage: Storage, number: int) -> None:
        """Let the parameters look at these, as parameters of the class of this number."""
        for p, array in zip(self.originals, arrays, strict=True):
            p.array, p.storage = array, storage
            if p._accumulate is not None:
                p._accumulate.device = storage.device
            if self.classes is not None:
                p.__class__ = self.classes[number]

    def put_together(self, shard: Array) -> Array:
        """The whole vector of which every rank gives its shard. Collective."""
        if self.layout.ranks == 1:
            return shard
        whole = np.empty(self.layout.length, shard.dtype, like=shard)
        gathered = self._room(whole)
        tensor_collectives.all_gather_into_tensor(
            base.new(Tensor, gathered),
            base.new(Tensor, shard if shard.flags.c_contiguous else shard.copy()),
            self.settings.group,
        )
        self.layout.joined(gathered, whole)
        return whole

    def show(self, whole: Array, device: devices.device) -> None:
        """Let the parameters look into a vector that somebody else has gathered."""
        self._show(self.wholes_in(whole), Storage(whole, device), 1)

    def put(self, whole: Array) -> None:
        """The shards take the values of the whole vector."""
        own = self.layout.part(whole, self.rank)
        if own.ctypes.data != self.flat.array.ctypes.data:
            self.flat.array[...] = own
        self.flat.storage.version += 1

    def _room(self, whole: Array) -> Array:
        """The memory into which the shards of all ranks are gathered, to be `joined` into the whole parameters."""
        return np.empty(self.layout.padded, whole.dtype, like=whole) if self.layout.rearranges else whole

    def wholes_in(self, vector: Array) -> list[Array]:
        """The parameters, in a vector like the whole one."""
        places = zip(self.layout.spans, self.layout.shapes, strict=True)
        return [vector[span].reshape(shape) for span, shape in places]

    def pieces_in(self, shard: Array) -> list[Array]:
        """This rank's piece of each parameter, in a vector like the shard."""
        return self.layout.pieces(shard, self.rank)

    def piece_of(self, value: Tensor, number: int) -> Tensor:
        """This rank's piece of a value for a whole parameter; one of another shape is left as it is."""
        if tuple(value.shape) != self.layout.shapes[number]:
            return value
        piece = self.layout.piece(number, self.rank)
        own = value.array.reshape(-1)[piece.start : piece.stop].copy()
        shape = self.layout.shape_of(number, self.rank)
        return base.new(Tensor, own.reshape(shape), self.flat.device)

    def __repr__(self) -> str:
        state = "whole" if self.is_whole else "sharded"
        return (
            f"<Unit of {', '.join(self.names[:3])}{' …' if len(self.names) > 3 else ''}: "
            f"{self.layout.total} elements, {self.layout.ranks} shards of {self.layout.shard}, {state}>"
        )


def _check_uniform(params: Sequence[Parameter], names: Sequence[str]) -> None:
    """One vector has one dtype."""
    kinds = {str(p.dtype) for p in params}
    if len(kinds) > 1:
        listed = ", ".join(f"{n}: {p.dtype}" for n, p in zip(names, params, strict=True))
        raise ValueError(
            f"Must flatten tensors with uniform dtype but got {', '.join(sorted(kinds))} ({listed}). "
            "Wrap them in FSDP units of their own, or convert the module first."
        )
