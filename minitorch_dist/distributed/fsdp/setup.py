"""Before a module is sharded: for which ranks, on which device, and what is left out."""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable, Iterable, Iterator
from typing import Any, NamedTuple

from minitorch_dist.distributed import distributed_c10d
from minitorch_dist.distributed.fsdp.api import ShardingStrategy
from minitorch_dist.distributed.torch_api.process_group import ProcessGroup, or_default
from minitorch_dist.nn.modules.module import Module
from minitorch_dist.nn.parameter import Parameter
from minitorch_dist.tensors import devices, dtypes
from minitorch_dist.tensors.autograd import grad_modes


class Ignored(NamedTuple):
    """The modules and parameters that stay as they are: not sharded, not reduced, not moved."""

    modules: set[Module]
    params: set[Any]


def ignored(
    modules: Iterable[Module] | None, states: Iterable[Parameter] | Iterable[Module] | None
) -> Ignored:
    both: list[Any] = [*(modules or ()), *(states or ())]
    for one in both:
        if not isinstance(one, (Module, Parameter)):
            raise TypeError(
                "ignored_modules and ignored_states take modules and parameters, got "
                f"{type(one).__name__}"
            )
    trees = {m for one in both if isinstance(one, Module) for m in one.modules()}
    params = {one for one in both if isinstance(one, Parameter)}
    params.update(p for m in trees for p in m._parameters.values() if p is not None)
    return Ignored(trees, params)


def own_modules(
    root: Module, boundary: type[Module], prefix: str = ""
) -> Iterator[tuple[str, Module]]:
    """`root` and what is below it, with dotted names, as far as no `boundary` module comes."""
    if isinstance(root, boundary):
        return
    yield prefix, root
    for name, child in root._modules.items():
        if child is not None:
            yield from own_modules(child, boundary, f"{prefix}.{name}" if prefix else name)


def groups_of(
    given: ProcessGroup | tuple[ProcessGroup, ProcessGroup] | None,
    mesh: Any,
    strategy: ShardingStrategy,
) -> tuple[ProcessGroup, ProcessGroup | None, ShardingStrategy]:
    """The ranks that share one set of shards, those that hold the same shard, and the strategy.

    One rank has nothing to share: there FULL_SHARD and SHARD_GRAD_OP become NO_SHARD, as in torch.
    """
    replicas: ProcessGroup | None = None
    if mesh is not None:
        if given is not None:
            raise ValueError("Cannot pass both process_group and device_mesh at the same time.")
        if strategy.is_hybrid:
            if mesh.ndim != 2:
                raise ValueError(
                    f"{strategy.name} needs a 2-dimensional device_mesh (replicas × shards), got "
                    f"{mesh.ndim} dimensions"
                )
            replicas, group = mesh.get_group(0), mesh.get_group(1)
        else:
            group = mesh.get_group(0)
    elif strategy.is_hybrid:
        group, replicas = given if isinstance(given, tuple) else _by_node()
    elif isinstance(given, tuple):
        group = given[0]
    else:
        group = or_default(given)
    if group.size() == 1 and not strategy.is_hybrid:
        strategy = ShardingStrategy.NO_SHARD
    return group, replicas, strategy


def _by_node() -> tuple[ProcessGroup, ProcessGroup]:
    """The ranks of this node, and across nodes those at the same place in theirs."""
    world = distributed_c10d.get_world_size()
    size = int(os.environ.get("LOCAL_WORLD_SIZE", 0)) or world
    if world % size:
        raise ValueError(
            f"HYBRID_SHARD over {world} ranks needs nodes of equal size, but LOCAL_WORLD_SIZE is "
            f"{size}: pass process_group=(within a node, across nodes), or a device_mesh"
        )
    me = distributed_c10d.get_rank()
    mine: list[Any] = [None, None]
    for node in range(world // size):
        group = distributed_c10d.new_group(list(range(node * size, (node + 1) * size)))
        if me // size == node:
            mine[0] = group
    for place in range(size):
        group = distributed_c10d.new_group(list(range(place, world, size)))
        if me % size == place:
            mine[1] = group
    return mine[0], mine[1]


def device_of(module: Module, device_id: int | str | devices.device | None) -> devices.device:
    """Where is computed: as asked, or where the parameters are."""
    if device_id is not None:
        return devices.resolve(devices.device(device_id))
    for p in module.parameters():
        return p.device
    return devices.CPU


def move(module: Module, device: devices.device, ignored: Ignored, boundary: type[Module]) -> None:
    """Move the tensors that this unit owns to `device`. Those of inner units have been moved already."""
    for _, each in own_modules(module, boundary):
        if each in ignored.modules:
            continue
        for p in each._parameters.values():
            if p is not None and p not in ignored.params and p.device is not device:
                p.data = p.data.to(device)
        for name, b in each._buffers.items():
            if b is not None and b.device is not device:
                each._buffers[name] = b.to(device)


def initialise(
    module: Module,
    function: Callable[[Module], None] | None,
    device: devices.device,
    ignored: Ignored,
    boundary: type[Module],
) -> None:
    """Give a module on `meta` memory and values: by `function` of each of its modules, or each resets itself."""
    own = [each for _, each in own_modules(module, boundary) if each not in ignored.modules]
    states = [p for each in own for p in each._parameters.values() if p is not None]
    if not any(p.storage.device is devices.META for p in states if p not in ignored.params):
        return
    for each in own:
        if function is not None:
            function(each)
        elif [*each.parameters(recurse=False), *each.buffers(recurse=False)]:
            each.to_empty(device=device, recurse=False)
            _reset(each)
    lacking = {
        p.device for p in states if p.storage.device is not device and p not in ignored.params
    }
    if devices.META in lacking:
        raise ValueError(
            f"Inconsistent compute device and `device_id` on rank {distributed_c10d.get_rank()}: "
            f"meta vs {device}. param_init_fn has to give every parameter memory, for example by "
            "module.to_empty(device=…, recurse=False)"
        )


def _reset(module: Module) -> None:
    try:
        with grad_modes.no_grad():
            module.reset_parameters()
    except BaseException as error:
        warnings.warn(
            "Unable to call `reset_parameters()` for module on meta device with error "
            f"{error}. Please ensure that your module of type {type(module)} implements a "
            "`reset_parameters()` method.",
            stacklevel=2,
        )
        raise


def convert_buffers(module: Module, dtype: dtypes.dtype | None, boundary: type[Module]) -> None:
    if dtype is None:
        return
    for _, each in own_modules(module, boundary):
        for name, b in each._buffers.items():
            if b is not None and b.is_floating_point():
                each._buffers[name] = b.to(dtype=dtype)
