"""Before a module is sharded: for which ranks, on which device, and which parameters."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from minitorch_dist.distributed.fsdp.gathering import ParameterSlot
from minitorch_dist.distributed.fsdp.options import ShardingStrategy
from minitorch_dist.distributed.fsdp.prefetch import STATE
from minitorch_dist.distributed.groups import ProcessGroup, resolve
from minitorch_dist.distributed.tensor.part import without_history
from minitorch_dist.distributed.torch_api import tensor_collectives
from minitorch_dist.nn.modules.module import Module
from minitorch_dist.nn.parameter import Parameter
from minitorch_dist.tensors import devices, dtypes
from minitorch_dist.tensors.tensor import Tensor


def own_modules(root: Module, prefix: str = "") -> Iterator[tuple[str, Module]]:
    """`root` and what is below it, with dotted names, as far as no FSDP module comes."""
    if STATE in root.__dict__:
        return
    yield prefix, root
    for name, child in root._modules.items():
        if child is not None:
            yield from own_modules(child, f"{prefix}.{name}" if prefix else name)


def own_places(root: Module, taken: type[Parameter] | tuple[()] = ()) -> list[list[ParameterSlot]]:
    """The parameters that no FSDP module inside takes, each with all its names; those of the class `taken` are in
    a unit already."""
    found: dict[int, list[ParameterSlot]] = {}
    for prefix, module in own_modules(root):
        for name, p in module._parameters.items():
            if p is not None and not isinstance(p, taken):
                fqn = f"{prefix}.{name}" if prefix else name
                found.setdefault(id(p), []).append(ParameterSlot(module, name, fqn))
    return list(found.values())


def groups_of(
    given: ProcessGroup | None, mesh: Any, strategy: ShardingStrategy
) -> tuple[ProcessGroup, ProcessGroup | None, ShardingStrategy]:
    """The ranks that share one set of shards, those that hold the same shard, and the strategy.

    One rank has nothing to share: there FULL_SHARD and SHARD_GRAD_OP become NO_SHARD, as in torch.
    """
    if mesh is not None and given is not None:
        raise ValueError("Cannot pass both process_group and device_mesh at the same time.")
    if strategy.is_hybrid:
        if mesh is None or mesh.ndim != 2:
            raise ValueError(f"{strategy.name} needs a 2-dimensional device_mesh (replicas × shards), got {mesh!r}")
        return mesh.get_group(1), mesh.get_group(0), strategy
    group = resolve(given) if mesh is None else mesh.get_group(0)
    if group.size() == 1:
        strategy = ShardingStrategy.NO_SHARD
    return group, None, strategy


def device_of(module: Module, device_id: int | str | devices.device | None) -> devices.device:
    """Where is computed: as asked, or where the parameters are."""
    if device_id is not None:
        return devices.resolve(devices.device(device_id))
    for p in module.parameters():
        return p.device
    return devices.CPU


def own_buffers(root: Module) -> list[Tensor]:
    each = (b for _, m in own_modules(root) for b in m._buffers.values())
    return [b for b in each if b is not None]


def spread(tensors: Sequence[Tensor], groups: Sequence[ProcessGroup | None]) -> None:
    """All ranks of these groups begin with the values of the first one."""
    for tensor in tensors:
        for group in groups:
            if group is not None and group.size() > 1:
                tensor_collectives.broadcast(without_history(tensor), group=group, group_src=0)


def move(module: Module, device: devices.device) -> None:
    """Move the tensors that this unit owns to `device`. Those of inner units have been moved already."""
    for _, each in own_modules(module):
        for p in each._parameters.values():
            if p is not None and p.device is not device:
                p.data = p.data.to(device)
        for name, b in each._buffers.items():
            if b is not None and b.device is not device:
                each._buffers[name] = b.to(device)


def convert_buffers(module: Module, dtype: dtypes.dtype) -> None:
    for _, each in own_modules(module):
        for name, b in each._buffers.items():
            if b is not None and b.is_floating_point():
                each._buffers[name] = b.to(dtype=dtype)
