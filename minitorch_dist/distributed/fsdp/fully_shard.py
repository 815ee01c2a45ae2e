"""`fully_shard(module)`: FSDP in place, parameter by parameter (torch's "FSDP2").

    for block in model.blocks:
        fully_shard(block)
    fully_shard(model)                     # what is left, and the root
    optimizer = Adam(model.parameters())   # DTensors: each rank its rows

The module keeps its class's methods and gets those of `FSDPModule`; its parameters become DTensors
cut along their first dimension, so a state_dict has them by their own names. `distributed.checkpoint` saves
them for any number of ranks. Beneath are the same `Unit` and `Prefetcher` as under
FullyShardedDataParallel, with another layout of the shards.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from typing import Any, TypeVar

import numpy as np

from minitorch_dist.distributed import distributed_c10d, world
from minitorch_dist.distributed.device_mesh import DeviceMesh, Ranks
from minitorch_dist.distributed.fsdp import prefetch, setup
from minitorch_dist.distributed.fsdp.gathering import Settings
from minitorch_dist.distributed.fsdp.options import (
    BackwardPrefetch,
    CPUOffloadPolicy,
    MixedPrecisionPolicy,
    OffloadPolicy,
)
from minitorch_dist.distributed.fsdp.prefetch import STATE, FSDPState, Prefetcher, state_of, states_in
from minitorch_dist.distributed.fsdp.unit import Unit
from minitorch_dist.distributed.tensor.dtensor import DParameter, DTensor
from minitorch_dist.distributed.tensor.placements import Placement, Replicate, Shard, StridedShard
from minitorch_dist.inventory.not_offered import refuse_options, tells_what_is_gone
from minitorch_dist.nn.modules.module import Module
from minitorch_dist.nn.parameter import Parameter
from minitorch_dist.tensors import devices
from minitorch_dist.tensors.core.base import Array
from minitorch_dist.tensors.tensor import Tensor

M = TypeVar("M", bound=Module)


class GatheredParameter(Parameter):
    """A `ShardedParameter` while it is whole: an ordinary parameter, with which is computed."""


class ShardedParameter(DParameter):
    """A parameter of an FSDP unit at rest: a DTensor. Its gradients come by its unit, and not by operations on it."""

    _unit: Unit
    _number: int

    def is_recorded(self) -> bool:
        return False

    def adopt(self, value: Tensor) -> None:
        if self._unit.settings.device is devices.META:
            super().adopt(value)  # see `materialise`
        else:
            self._local_array()[...] = self.part_of(value)
            self.storage.version += 1

    def _local_array(self) -> Array:
        unit = self._unit
        if unit.settings.device is devices.META:
            return self.array  # see `materialise`
        return unit.layout.own(unit.flat.array, self._number, unit.rank)


class UnshardHandle:
    """A gathering on its way."""

    def __init__(self, unit: Unit | None) -> None:
        self._unit = unit

    def wait(self) -> None:
        if self._unit is not None:
            self._unit.unshard()


@tells_what_is_gone
class FSDPModule(Module):
    """The methods that a module has after `fully_shard`."""

    @property
    def _state(self) -> FSDPState:
        return state_of(self)

    def unshard(self, async_op: bool = False) -> UnshardHandle | None:
        """Gather the parameters now, or begin to."""
        prefetch.settle(self)
        unit = self._state.unit
        if unit is not None:
            unit.prefetch()
        handle = UnshardHandle(unit)
        if async_op:
            return handle
        handle.wait()
        return None

    def reshard(self) -> None:
        """Give the gathered parameters back."""
        if self._state.unit is not None:
            self._state.unit.reshard()

    def set_requires_gradient_sync(self, requires_gradient_sync: bool, *, recurse: bool = True) -> None:
        """False: collect whole gradients without messages, as `no_sync` does."""
        for unit in self._units(recurse):
            unit.synchronises = requires_gradient_sync

    def set_requires_all_reduce(self, requires_all_reduce: bool, *, recurse: bool = True) -> None:
        """False: keep the sums over shards of this rank, and sum them over replicas with those of a later backward pass."""
        for unit in self._units(recurse):
            unit.sums_replicas = requires_all_reduce

    def _sum_replicas_by(self, algorithm: str) -> None:
        """The algorithm of sums over replicas, for all units. torch leaves it to NCCL."""
        for unit in self._units(True):
            unit.algorithm = algorithm

    def set_is_last_backward(self, is_last_backward: bool) -> None:
        """False: a backward pass may end while its last gradients are being reduced, and what comes next hides that. True waits
        for them, now and at the end of each pass."""
        prefetch.settle(self)
        self._state.prefetcher.expect_last_backward(is_last_backward)

    def set_reshard_after_forward(self, reshard_after_forward: bool, recurse: bool = True) -> None:
        for state in states_in(self) if recurse else [self._state]:
            state.frees = reshard_after_forward

    def set_reshard_after_backward(self, reshard_after_backward: bool, *, recurse: bool = True) -> None:
        for unit in self._units(recurse):
            unit.stays_after_backward = not reshard_after_backward

    def set_modules_to_forward_prefetch(self, modules: Sequence[FSDPModule]) -> None:
        """Which modules' parameters to fetch while this one computes forward."""
        self._set_ahead("forward", modules)

    def set_modules_to_backward_prefetch(self, modules: Sequence[FSDPModule]) -> None:
        self._set_ahead("backward", modules)

    def _set_ahead(self, way: str, modules: Sequence[FSDPModule]) -> None:
        for module in modules:
            if not isinstance(module, FSDPModule):
                raise ValueError(f"prefetching takes modules after fully_shard, got {module!r}")
        if self._state.unit is not None:
            found = [m._state.unit for m in modules]
            self._state.unit.ahead[way] = [unit for unit in found if unit is not None]

    def _units(self, recurse: bool) -> list[Unit]:
        found = states_in(self) if recurse else [self._state]
        return [state.unit for state in found if state.unit is not None]


def fully_shard(
    module: M,
    *,
    mesh: DeviceMesh | None = None,
    reshard_after_forward: bool | int | None = None,
    shard_placement_fn: Callable[..., Any] | None = None,
    mp_policy: MixedPrecisionPolicy | None = None,
    offload_policy: OffloadPolicy | None = None,
    ignored_params: set[Any] | None = None,
    src_data_rank: int | None = 0,
) -> M:
    """Shard the parameters of `module` that no call before has sharded.

    As everywhere here, rank 0's values count. A module on the device `meta` stays there: `to_empty(device=…)` gives
    the shards memory, and the program fills it.

    Args:
        module: The module, changed in place; call it for inner modules first.
        mesh: The ranks; a mesh of two dimensions is (replicas, shards). None means all ranks.
        reshard_after_forward: Free the whole parameters after forward; None does so but for the root.
        shard_placement_fn: Refused; parameters are cut along their first dimension.
        mp_policy: The types in which is computed, reduced and returned.
        offload_policy: A CPUOffloadPolicy keeps shards on the CPU.
        ignored_params: Refused.
        src_data_rank: 0 takes rank 0's values; None takes every rank's own, and nothing is sent.

    Returns:
        The module, which has the methods of FSDPModule now.

    Raises:
        ValueError: It was applied to this module before, or the mesh has more than two dimensions.

    Example:
        >>> def program():
        ...     model = dist.fsdp.fully_shard(nn.Linear(4, 4, bias=False))
        ...     rows = model.weight.to_local().shape[0]
        ...     return tuple(model.weight.shape), rows
        >>> sim.run(program, 2).results
        [((4, 4), 2), ((4, 4), 2)]
    """
    if isinstance(module, FSDPModule):
        raise ValueError(f"fully_shard has already been applied to {type(module).__name__}")
    refuse_options("FSDP", shard_placement_fn=shard_placement_fn, ignored_params=ignored_params)
    mesh = mesh or _whole_world(module)
    if mesh.ndim > 2:
        raise ValueError(f"fully_shard expects a 1D or 2D DeviceMesh but got {mesh!r}")
    group = mesh.get_group(mesh.ndim - 1)
    replicas = mesh.get_group(0) if mesh.ndim == 2 else None
    policy = mp_policy or MixedPrecisionPolicy()
    places = setup.own_places(module, ShardedParameter)
    device = mesh.device_for(setup.device_of(module, None))  # `meta`, if it has no numbers yet
    setup.move(module, device)
    params = [getattr(shared[0].module, shared[0].name) for shared in places]
    if device is not devices.META and src_data_rank is not None:
        setup.spread(params, (group, replicas))
    unit = None
    if places:
        offload = isinstance(offload_policy, CPUOffloadPolicy)
        shapes = [tuple(p.array.shape) for p in params]
        unit = Unit(places, Settings(group, replicas, device, offload, policy, by_rows=True))
        for number, (p, shape) in enumerate(zip(params, shapes, strict=True)):
            p._lying = _lying(p, shape, mesh)
            p.__class__ = ShardedParameter
            p._unit, p._number = unit, number
        unit.classes = ShardedParameter, GatheredParameter
    frees = None if reshard_after_forward is None else bool(reshard_after_forward)
    prefetcher = Prefetcher(BackwardPrefetch.BACKWARD_PRE, False)
    module.__dict__[STATE] = FSDPState(unit, prefetcher, frees, device if unit else None, policy)
    old = type(module)
    module.__class__ = type(f"FSDP{old.__name__}", (FSDPModule, old), {})
    module.register_forward_pre_hook(prefetch.before, prepend=True, with_kwargs=True)
    module.register_forward_hook(prefetch.after)
    module.register_state_dict_pre_hook(_at_rest)
    module.register_load_state_dict_pre_hook(_at_rest)
    return module


def _lying(
    p: Any, shape: tuple[int, ...], mesh: DeviceMesh
) -> tuple[DeviceMesh, tuple[Placement, ...], tuple[int, ...]]:
    """The mesh on which a parameter lies now, how it lies there, and its whole shape. A parameter that tensor
    parallelism has cut before is cut once more, along other axes of the same mesh."""
    own = (*[Replicate()] * (mesh.ndim - 1), Shard(0))
    if not isinstance(p, DTensor) or (p.device_mesh.ndim == 1 and p.device_mesh.size() == 1):
        return mesh, own, shape
    joint, axes = mesh.joined(p.device_mesh)
    cuts_rows = any(isinstance(one, Shard) and one.dim == 0 for one in p.placements)
    if cuts_rows and axes[mesh.ndim - 1] < max(axes[mesh.ndim :]):
        own = (*own[:-1], StridedShard(0))
    at = dict(zip(axes, (*own, *p.placements), strict=True))
    return joint, tuple(at[axis] for axis in range(joint.ndim)), p._whole


def _whole_world(module: Module) -> DeviceMesh:
    device = setup.device_of(module, None)
    if not distributed_c10d.is_initialized():
        distributed_c10d.init_process_group()
    kind, meshes = "cpu" if device is devices.META else device.type, world.current().meshes
    if kind not in meshes:
        meshes[kind] = DeviceMesh(kind, _everybody(distributed_c10d.get_world_size()))
    found: DeviceMesh = meshes[kind]
    return found


@cache
def _everybody(size: int) -> Ranks:
    """One array for all modules, and for all ranks of a simulation."""
    found = np.arange(size, dtype=np.int32)
    found.flags.writeable = False
    return found


def _at_rest(module: Any, *_: Any) -> None:
    """A state is that of the shards."""
    unit = module._state.unit
    if unit is not None:
        unit.reshard()
