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
    held = [unit.flat] if not unit.settings.keep_originals else unit.originals
    known = [state.get(p, {}) for p in held]
    keys = sorted({key for one in known for key in one})
    found: dict[str, State] = {prefix + name: {} for name in unit.names}
    for key in keys:
        example = next(one[key] for one in known if key in one)
        if not isinstance(example, Tensor) or example.ndim == 0:
            for name in found:
                found[name][key] = example.clone() if isinstance(example, Tensor) else example
            continue
        gathered = _gather(unit, _shard_vector(unit, known, key, example))
        for number, name in enumerate(found):
            piece = gathered[unit.layout.span(number)].reshape(unit.layout.shapes[number])
            found[name][key] = base.new(Tensor, piece.copy(), example.device)
    return {name: entry for name, entry in found.items() if entry}


def _shard_vector(unit: Unit, known: Sequence[State], key: str, example: Tensor) -> Array:
    if not unit.settings.keep_originals:
        return example.array
    vector = np.zeros(unit.layout.shard, example.array.dtype, like=example.array)
    for number, one in enumerate(known):
        if key in one:
            piece = unit.layout.piece(number, unit.rank)
            vector[piece.offset : piece.offset + piece.length] = one[key].array.reshape(-1)
    return vector


def _gather(unit: Unit, shard: Array) -> Array:
    if unit.layout.ranks == 1:
        return shard
    return unit.put_together(shard)


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
    state: dict[int, State] = {}
    number = 0
    groups = []
    by_flat = {id(unit.flat): (prefix, unit) for prefix, unit in units_of(model)}
    by_name = {
        prefix + name: (unit, place)
        for prefix, unit in units_of(model)
        for place, name in enumerate(unit.names)
    }
    for group, old in zip(optimizer.param_groups, saved["param_groups"], strict=True):
        ids = []
        for p in group["params"]:
            if id(p) in by_flat:
                entry = _flat_entry(*by_flat[id(p)], entries)
            else:
                entry = _piece_entry(names[id(p)][0], by_name, entries)
            if entry:
                state[number] = entry
            ids.append(number)
            number += 1
        groups.append({**{k: v for k, v in old.items() if k != "params"}, "params": ids})
    return {"state": state, "param_groups": groups}


def _flat_entry(prefix: str, unit: Unit, entries: State) -> State:
    names = [prefix + name for name in unit.names]
    first = next((entries[name] for name in names if name in entries), None)
    if first is None:
        return {}
    found: State = {}
    for key, example in first.items():
        if not isinstance(example, Tensor) or example.ndim == 0:
            found[key] = example.clone() if isinstance(example, Tensor) else example
            continue
        flat = np.zeros(unit.layout.length, example.array.dtype, like=example.array)
        for number, name in enumerate(names):
            if name in entries:
                flat[unit.layout.span(number)] = entries[name][key].array.reshape(-1)
        own = unit.layout.part(flat, unit.rank).copy()
        found[key] = base.new(Tensor, own, unit.flat.device)
    return found


def _piece_entry(name: str, by_name: dict[str, tuple[Unit, int]], entries: State) -> State:
    entry = entries.get(name, {})
    if name not in by_name:
        return dict(entry)
    unit, number = by_name[name]
    piece = unit.layout.piece(number, unit.rank)
    found: State = {}
    for key, value in entry.items():
        if isinstance(value, Tensor) and value.ndim > 0:
            own = value.array.reshape(-1)[piece.start : piece.stop].copy()
            own = own.reshape(unit.layout.shape_of(number, unit.rank))
            found[key] = base.new(Tensor, own, unit.flat.device)
        else:
            found[key] = value.clone() if isinstance(value, Tensor) else value
    return found


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
