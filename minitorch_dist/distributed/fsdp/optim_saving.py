"""torch's functions for the optimizer's state under FSDP, over `optim_state`."""

from __future__ import annotations

from collections.abc import Iterable
from enum import Enum, auto
from typing import Any

from minitorch_dist.distributed import distributed_c10d
from minitorch_dist.distributed.fsdp import optim_state
from minitorch_dist.distributed.fsdp.api import FullOptimStateDictConfig, StateDictType
from minitorch_dist.distributed.fsdp.saving import mesh_of, rows_of
from minitorch_dist.distributed.fsdp.state_settings import get_state_dict_type
from minitorch_dist.distributed.torch_api import object_collectives
from minitorch_dist.distributed.torch_api.process_group import ProcessGroup, or_default
from minitorch_dist.nn.modules.module import Module
from minitorch_dist.nn.parameter import Parameter
from minitorch_dist.optim.optimizer import Optimizer
from minitorch_dist.tensors.tensor import Tensor

State = dict[str, Any]
Input = list[dict[str, Any]] | Iterable[Parameter] | None


class OptimStateKeyType(Enum):
    PARAM_NAME = auto()
    PARAM_ID = auto()


def optim_state_dict(
    model: Module,
    optim: Optimizer,
    optim_state_dict: State | None = None,
    group: ProcessGroup | None = None,
) -> State:
    """The optimizer's state as the model's `state_dict_type` says. Collective."""
    settings = get_state_dict_type(model)
    config = settings.optim_state_dict_config
    if settings.state_dict_type is StateDictType.LOCAL_STATE_DICT:
        return optim.state_dict()
    found = optim_state.whole(model, optim)
    if settings.state_dict_type is StateDictType.SHARDED_STATE_DICT:
        return _cut(found, group)
    alone = isinstance(config, FullOptimStateDictConfig) and config.rank0_only
    if alone and distributed_c10d.get_rank(group) != 0:
        return {}
    return _offloaded(found) if config.offload_to_cpu else found


def _cut(found: State, group: ProcessGroup | None) -> State:
    """Each rank its rows of every tensor."""
    mesh = mesh_of(or_default(group))
    for entry in found["state"].values():
        for key, value in entry.items():
            if isinstance(value, Tensor):
                entry[key] = rows_of(value, mesh)
    return found


def _offloaded(found: State) -> State:
    for entry in found["state"].values():
        for key, value in entry.items():
            if isinstance(value, Tensor):
                entry[key] = value.cpu()
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
    if get_state_dict_type(model).state_dict_type is StateDictType.LOCAL_STATE_DICT:
        found = optim_state_dict
    else:
        found = optim_state.to_load(model, optim, optim_state_dict)
    if load_directly:
        optim.load_state_dict(found)
    return found


def full_optim_state_dict(
    model: Module,
    optim: Optimizer,
    optim_input: Input = None,
    rank0_only: bool = True,
    group: ProcessGroup | None = None,
) -> State:
    """The whole state by name, on rank 0 (or all ranks). Collective."""
    found = optim_state.whole(model, optim)
    return {} if rank0_only and distributed_c10d.get_rank(group) != 0 else found


def shard_full_optim_state_dict(
    full_optim_state_dict: State,
    model: Module,
    optim_input: Input = None,
    optim: Optimizer | None = None,
) -> State:
    """Every rank has the whole state, and takes its part."""
    return optim_state.to_load(model, _needed(optim), full_optim_state_dict)


def sharded_optim_state_dict(
    model: Module, optim: Optimizer, group: ProcessGroup | None = None
) -> State:
    """The state by name, each rank its rows of every tensor. Collective."""
    return _cut(optim_state.whole(model, optim), group)


def flatten_sharded_optim_state_dict(
    sharded_optim_state_dict: State, model: Module, optim: Optimizer
) -> State:
    """From rows, saved by any number of ranks, this rank's part. Collective."""
    return optim_state.to_load(model, optim, sharded_optim_state_dict)


def scatter_full_optim_state_dict(
    full_optim_state_dict: State | None,
    model: Module,
    optim_input: Input = None,
    optim: Optimizer | None = None,
    group: ProcessGroup | None = None,
) -> State:
    """Only rank 0 has the whole state; every rank takes its part. Collective."""
    sent = [full_optim_state_dict]
    object_collectives.broadcast_object_list(sent, group=group, group_src=0)
    assert sent[0] is not None
    return optim_state.to_load(model, _needed(optim), sent[0])


def rekey_optim_state_dict(
    optim_state_dict: State,
    optim_state_key_type: OptimStateKeyType,
    model: Module,
    optim_input: Input = None,
    optim: Optimizer | None = None,
) -> State:
    """From names to numbers or back, so that a model without FSDP can go on."""
    names = [name for name, _ in model.named_parameters()]
    table: dict[Any, Any] = (
        dict(enumerate(names))
        if optim_state_key_type is OptimStateKeyType.PARAM_NAME
        else {name: number for number, name in enumerate(names)}
    )
    return {
        "state": {table[key]: value for key, value in optim_state_dict["state"].items()},
        "param_groups": [
            {**group, "params": sorted(table[key] for key in group["params"])}
            for group in optim_state_dict["param_groups"]
        ],
    }


def _needed(optim: Optimizer | None) -> Optimizer:
    if optim is None:
        raise ValueError("pass optim=, the optimizer that will load the state")
    return optim
