"""An optimizer's state under FSDP: whole and by name for saving, and in shards for going on.

The optimizer knows shards: of the flat parameter, or (use_orig_params) of each parameter. Its state
for them (momenta, averages) has their shape, and is put together and taken apart as they are. State
without a shape (the number of steps) is the same for all of a unit.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from minitorch_dist.distributed import distributed_c10d
from minitorch_dist.distributed.fsdp.options import FullOptimStateDictConfig, StateDictType
from minitorch_dist.distributed.fsdp.saving import INNER, get_state_dict_type, mesh_of, rows_of
from minitorch_dist.distributed.fsdp.unit import Unit
from minitorch_dist.distributed.tensor.dtensor import DTensor
from minitorch_dist.distributed.torch_api.process_group import ProcessGroup, or_default
from minitorch_dist.nn.modules.module import Module
from minitorch_dist.optim.optimizer import Optimizer
from minitorch_dist.tensors.core import base
from minitorch_dist.tensors.core.base import Array
from minitorch_dist.tensors.tensor import Tensor

State = dict[str, Any]


def units_of(model: Module) -> Iterator[tuple[str, Unit]]:
    """All units below `model`, each with the clean name of its module and a dot."""
    for name, module in model.named_modules():
        unit = getattr(module, "_unit", None)
        if isinstance(unit, Unit):
            clean = clean_name(name)
            yield (f"{clean}." if clean else ""), unit


def clean_name(name: str) -> str:
    return ".".join(part for part in name.split(".") if part != INNER)


def names_of(model: Module) -> dict[int, list[str]]:
    """For each parameter that an optimizer may know, the names of what is in it."""
    found = {
        id(p): [clean_name(name)]
        for name, p in model.named_parameters()
        if not name.endswith("_flat_param")
    }
    for prefix, unit in units_of(model):
        names = [prefix + name for name in unit.names]
        found[id(unit.flat)] = names
        for p, name in zip(unit.originals, names, strict=True):
            found[id(p)] = [name]
    return found


# --------------------------------------------------------------------------------------------- whole


def whole(model: Module, optimizer: Optimizer) -> State:
    """`{"state": {name: …}, "param_groups": […]}` with whole tensors on all ranks. Collective."""
    names = names_of(model)
    state: State = {}
    for prefix, unit in units_of(model):
        state.update(_whole_of_unit(prefix, unit, optimizer.state))
    for group in optimizer.param_groups:
        for p in group["params"]:
            if id(p) in names and names[id(p)][0] not in state and p in optimizer.state:
                state[names[id(p)][0]] = dict(optimizer.state[p])
    groups = [
        {**{k: v for k, v in group.items() if k != "params"},
         "params": [name for p in group["params"] for name in names[id(p)]]}
        for group in optimizer.param_groups
    ]  # fmt: skip
    order = [name for group in groups for name in group["params"]]
    return {
        "state": {name: state[name] for name in order if name in state},
        "param_groups": groups,
    }


def _whole_of_unit(prefix: str, unit: Unit, state: Any) -> State:
    """The state of one unit's parameters, gathered key by key."""
    known = [state.get(p, {}) for p in unit.held()]
    found: dict[str, State] = {prefix + name: {} for name in unit.names}
    for key in sorted({key for one in known for key in one}):
        example = next(one[key] for one in known if key in one)
        if not _has_shape(example):
            for entry in found.values():
                entry[key] = _copied(example)
            continue
        shard = example.array
        if unit.settings.keep_originals:
            shard = np.zeros(unit.layout.shard, example.array.dtype, like=example.array)
            for number, one in enumerate(known):
                if key in one:
                    unit.piece_in(shard, number)[...] = one[key].array.reshape(-1)
        gathered = shard if unit.layout.ranks == 1 else unit.put_together(shard)
        for number, entry in enumerate(found.values()):
            piece = gathered[unit.spans[number]].reshape(unit.layout.shapes[number])
            entry[key] = base.new(Tensor, piece.copy(), example.device)
    return {name: entry for name, entry in found.items() if entry}


def _has_shape(value: Any) -> bool:
    return isinstance(value, Tensor) and value.ndim > 0


def _copied(value: Any) -> Any:
    return value.clone() if isinstance(value, Tensor) else value


# -------------------------------------------------------------------------------------------- shards


def to_load(model: Module, optimizer: Optimizer, saved: State) -> State:
    """The state for `optimizer.load_state_dict`, made from the one that `whole` gave: each rank takes its own parts."""
    names = names_of(model)
    entries = {
        name: {
            key: value.full_tensor() if isinstance(value, DTensor) else value
            for key, value in entry.items()
        }
        for name, entry in saved["state"].items()
    }
    own: dict[int, State] = {}
    for prefix, unit in units_of(model):
        own |= _shards_of_unit(unit, [entries.get(prefix + name, {}) for name in unit.names])
    state: dict[int, State] = {}
    groups = []
    count = 0
    for group, old in zip(optimizer.param_groups, saved["param_groups"], strict=True):
        ids = list(range(count, count + len(group["params"])))
        count += len(ids)
        for number, p in zip(ids, group["params"], strict=True):
            entry = own[id(p)] if id(p) in own else dict(entries.get(names[id(p)][0], {}))
            if entry:
                state[number] = entry
        groups.append({**{k: v for k, v in old.items() if k != "params"}, "params": ids})
    return {"state": state, "param_groups": groups}


def _shards_of_unit(unit: Unit, given: Sequence[State]) -> dict[int, State]:
    """This rank's part of the states of a unit's parameters, by what the optimizer knows."""
    found: dict[int, State] = {id(p): {} for p in unit.held()}
    for number, p in enumerate(unit.held()):
        of_p = [given[number]] if unit.settings.keep_originals else [one for one in given if one]
        for key, value in of_p[0].items() if of_p else ():
            if not _has_shape(value):
                found[id(p)][key] = _copied(value)
                continue
            shard = _shard(unit, given, key, value)
            if unit.settings.keep_originals:
                shape = unit.layout.shape_of(number, unit.rank)
                shard = unit.piece_in(shard, number).reshape(shape).copy()
            found[id(p)][key] = base.new(Tensor, shard, unit.flat.device)
    return found


def _shard(unit: Unit, given: Sequence[State], key: str, example: Tensor) -> Array:
    """This rank's part of the vector of all parameters' values under a key."""
    whole = np.zeros(unit.layout.length, example.array.dtype, like=example.array)
    for number, one in enumerate(given):
        if key in one:
            whole[unit.spans[number]] = one[key].array.reshape(-1)
    return unit.layout.part(whole, unit.rank).copy()


# ---------------------------------------------------------------------------------- torch's functions


def optim_state_dict(
    model: Module,
    optim: Optimizer,
    optim_state_dict: State | None = None,
    group: ProcessGroup | None = None,
) -> State:
    """The optimizer's state as the model's `state_dict_type` says. Collective."""
    settings = get_state_dict_type(model)
    config = settings.optim_state_dict_config
    found = whole(model, optim)
    if settings.state_dict_type is StateDictType.SHARDED_STATE_DICT:
        mesh = mesh_of(or_default(group))
        return _with_tensors(found, lambda value: rows_of(value, mesh))
    alone = isinstance(config, FullOptimStateDictConfig) and config.rank0_only
    if alone and distributed_c10d.get_rank(group) != 0:
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
