"""An optimizer's state under FSDP: whole and by name for saving, and in shards for going on.

The optimizer knows this rank's piece of each parameter. Its state for them (momenta, averages) has their
shape, and is put together and taken apart as they are. State without a shape (the number of steps) is the
same for all ranks.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from minitorch_dist.distributed import distributed_c10d
from minitorch_dist.distributed.device_mesh import DeviceMesh
from minitorch_dist.distributed.fsdp import optimizer_names
from minitorch_dist.distributed.fsdp.options import StateDictType
from minitorch_dist.distributed.fsdp.saving import INNER, rows_of, settings_of
from minitorch_dist.distributed.fsdp.unit import Unit
from minitorch_dist.distributed.groups import ProcessGroup, resolve
from minitorch_dist.distributed.tensor.dtensor import DTensor
from minitorch_dist.nn.modules.module import Module
from minitorch_dist.optim.optimizer import Optimizer
from minitorch_dist.tensors.core import base
from minitorch_dist.tensors.tensor import Tensor

State = dict[str, Any]


def units_of(model: Module) -> Iterator[tuple[str, Unit]]:
    """All units below `model`, each with the clean name of its module and a dot."""
    for name, module in model.named_modules():
        state = module.__dict__.get("_fsdp_state")
        if state is not None and state.unit is not None:
            clean = clean_name(name)
            yield (f"{clean}." if clean else ""), state.unit


def clean_name(name: str) -> str:
    return ".".join(part for part in name.split(".") if part != INNER)


def whole(model: Module, optimizer: Optimizer) -> State:
    """`{"state": {name: …}, "param_groups": […]}` with whole tensors on all ranks. Collective."""
    found = optimizer_names.by_name(optimizer, _names(model))
    state = found["state"]
    for prefix, unit in units_of(model):
        state.update(_whole_of_unit(prefix, unit, optimizer.state))
    order = [name for group in found["param_groups"] for name in group["params"]]
    return {**found, "state": {name: state[name] for name in order if name in state}}


def _names(model: Module) -> optimizer_names.Names:
    return {id(p): [clean_name(name)] for name, p in model.named_parameters()}


def _whole_of_unit(prefix: str, unit: Unit, state: Any) -> State:
    """The state of one unit's parameters, gathered key by key."""
    known = [state.get(p, {}) for p in unit.originals]
    found: dict[str, State] = {prefix + name: {} for name in unit.names}
    for key in sorted({key for one in known for key in one}):
        example = next(one[key] for one in known if key in one)
        if not _has_shape(example):
            for entry in found.values():
                entry[key] = _copied(example)
            continue
        shard = np.zeros(unit.layout.shard, example.array.dtype, like=example.array)
        for one, piece in zip(known, unit.pieces_in(shard), strict=True):
            if key in one:
                piece[...] = one[key].array.reshape(piece.shape)
        wholes = unit.wholes_in(unit.put_together(shard))
        for entry, array in zip(found.values(), wholes, strict=True):
            entry[key] = base.new(Tensor, array.copy(), example.device)
    return {name: entry for name, entry in found.items() if entry}


def _has_shape(value: Any) -> bool:
    return isinstance(value, Tensor) and value.ndim > 0


def _copied(value: Any) -> Any:
    return value.clone() if isinstance(value, Tensor) else value


def to_load(model: Module, optimizer: Optimizer, saved: State, strict: bool = False) -> State:
    """The state for `optimizer.load_state_dict`, made from the one that `whole` gave: each rank takes its own pieces."""
    places = {id(p): (unit, n) for _, unit in units_of(model) for n, p in enumerate(unit.originals)}

    def own(value: Any, p: Any) -> Any:
        """This rank's piece of a state of the parameter."""
        value = value.full_tensor() if isinstance(value, DTensor) else value
        if id(p) not in places or not _has_shape(value):
            return _copied(value)
        unit, number = places[id(p)]
        return unit.piece_of(value, number)

    return optimizer_names.numbered(optimizer, saved, _names(model), own, strict)


# ---------------------------------------------------------------------------------- torch's functions


def optim_state_dict(
    model: Module, optim: Optimizer, optim_state_dict: State | None = None, group: ProcessGroup | None = None
) -> State:
    """The optimizer's state as the model's `state_dict_type` says. Collective."""
    settings = settings_of(model)
    config = settings.optim_state_dict_config
    found = whole(model, optim)
    if settings.state_dict_type is StateDictType.SHARDED_STATE_DICT:
        mesh = DeviceMesh.from_group(resolve(group), "cpu")
        return _with_tensors(found, lambda value: rows_of(value, mesh))
    if config.rank0_only and distributed_c10d.get_rank(group) != 0:
        return {}
    return _with_tensors(found, lambda value: value.cpu()) if config.offload_to_cpu else found


def _with_tensors(found: State, change: Callable[[Tensor], Any]) -> State:
    for entry in found["state"].values():
        for key, value in entry.items():
            if isinstance(value, Tensor):
                entry[key] = change(value)
    return found


def optim_state_dict_to_load(
    model: Module,
    optim: Optimizer,
    optim_state_dict: State,
    is_named_optimizer: bool = False,
    load_directly: bool = False,
    group: ProcessGroup | None = None,
) -> State:
    """This rank's part of a saved state, as `optim.load_state_dict` takes it."""
    found = to_load(model, optim, optim_state_dict)
    if load_directly:
        optim.load_state_dict(found)
    return found
