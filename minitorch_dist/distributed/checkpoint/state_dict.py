"""States under the names of the bare model, with any wrapper: plain, DDP, FSDP, `fully_shard`.

    model, optim = get_state_dict(model, optimizer)        0.weight: …   state: {0.weight: {exp_avg: …}}
    checkpoint.save({"model": model, "optim": optim}, checkpoint_id=folder)
    …                                                      other ranks, another wrapper
    checkpoint.load(state, checkpoint_id=folder)
    set_state_dict(model, optimizer, model_state_dict=…, optim_state_dict=…)

A saved state names no wrapper and no number of a parameter, so one wrapper's state fits the other's.
Sharded tensors are DTensors, which `checkpoint` saves and loads for any number of ranks. A given
tensor is put as the one that it fills lies: cut where that is cut, gathered where that is whole.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from typing import Any

from minitorch_dist.distributed import distributed_c10d
from minitorch_dist.distributed.checkpoint.first_step import initialise
from minitorch_dist.distributed.ddp.module import DistributedDataParallel
from minitorch_dist.distributed.fsdp import FullyShardedDataParallel, StateDictType, optim_state, optimizer_names
from minitorch_dist.distributed.fsdp.saving import INNER
from minitorch_dist.distributed.tensor.dtensor import DTensor, made
from minitorch_dist.distributed.torch_api import object_collectives
from minitorch_dist.nn.modules.module import Module
from minitorch_dist.nn.modules.state_dict import _IncompatibleKeys
from minitorch_dist.optim.optimizer import Optimizer
from minitorch_dist.tensors import devices
from minitorch_dist.tensors.autograd import grad_modes
from minitorch_dist.tensors.tensor import Tensor

State = dict[str, Any]
Optimizers = Optimizer | Iterable[Optimizer]
_init_optim_state = initialise  # torch's name


@dataclass
class StateDictOptions:
    """The form of the states.

    `full_state_dict`: whole tensors instead of DTensors; with `cpu_offload`, on rank 0 only.
    `strict`: names must match exactly when a state is set.
    `broadcast_from_rank0`: rank 0 alone has the whole state; the others receive it.
    """

    full_state_dict: bool = False
    cpu_offload: bool = False
    strict: bool = True
    broadcast_from_rank0: bool = False

    def __post_init__(self) -> None:
        if self.broadcast_from_rank0 and not self.full_state_dict:
            raise ValueError("full_state_dict must be True when broadcast_from_rank0 is True.")


# --------------------------------------------------------------------------------------------- model


def get_model_state_dict(model: Module, *, options: StateDictOptions | None = None) -> State:
    """The model's state under the bare model's names. Collective where the model is sharded.

    Args:
        model: The model, under any wrapper.
        options: A StateDictOptions.

    Returns:
        A dictionary of tensors or DTensors.

    Example:
        >>> sorted(dist.checkpoint.state_dict.get_model_state_dict(nn.Linear(1, 1)))
        ['bias', 'weight']
    """
    how = options or StateDictOptions()
    with grad_modes.no_grad(), _as_asked(model, how):
        state = {bare(model, name): value for name, value in model.state_dict().items()}
    return _finished(state, how)


def set_model_state_dict(
    model: Module, model_state_dict: State, *, options: StateDictOptions | None = None
) -> _IncompatibleKeys:
    """Fill the model from what `get_model_state_dict` gave, under any wrapper. Collective.

    Args:
        model: The model, under any wrapper.
        model_state_dict: The values.
        options: A StateDictOptions, such as `strict=False`.

    Returns:
        The keys that were missing or unexpected.

    Example:
        >>> from minitorch_dist.distributed.checkpoint.state_dict import set_model_state_dict
        >>> model = nn.Linear(1, 1)
        >>> _ = set_model_state_dict(model, {"weight": torch.ones(1, 1), "bias": torch.zeros(1)})
        >>> model.weight.item()
        1.0
    """
    how = options or StateDictOptions()
    given = _told(model_state_dict, how)
    if not given:
        if how.strict:
            raise RuntimeError("model state_dict is required to load, but it is empty")
        return _IncompatibleKeys([], [])
    wrapped = {bare(model, name): name for name in _names(model)}
    is_fsdp = bool(FullyShardedDataParallel.fsdp_modules(model))  # puts rows together by itself
    own = {} if is_fsdp else model.state_dict(keep_vars=True)
    is_meta = any(t.device is devices.META for t in own.values() if isinstance(t, Tensor))
    placed = {wrapped.get(name, name): value for name, value in given.items()}
    filled = {name: fitted(value, own.get(name)) for name, value in placed.items()}
    with grad_modes.no_grad(), _as_asked(model, how):
        found = model.load_state_dict(filled, strict=how.strict, assign=is_meta)
    return _IncompatibleKeys([bare(model, name) for name in found.missing_keys], list(found.unexpected_keys))


def bare(model: Module, name: str) -> str:
    """The name that the model would give without its wrappers."""
    return ".".join(part for part, is_wrapping in _walked(model, name) if not is_wrapping)


def _walked(model: Module, name: str) -> Iterator[tuple[str, bool]]:
    """The parts of a name, and which of them stand for a wrapper."""
    here: Any = model
    for part in name.split("."):
        while isinstance(here, FullyShardedDataParallel) and part != INNER:
            here = here._modules[INNER]  # not in a state_dict
        is_ddp = isinstance(here, DistributedDataParallel) and part == "module"
        yield part, is_ddp or part == INNER
        here = here._modules.get(part) if isinstance(here, Module) else None


def _names(model: Module) -> list[str]:
    """All names of a state_dict, gathering nothing."""
    names = [name for name, _ in model.named_parameters(remove_duplicate=False)]
    names += [name for name, _ in model.named_buffers(remove_duplicate=False)]
    return [n.replace(f"{INNER}.", "") for n in names]


# ----------------------------------------------------------------------------------------- optimizers


def get_optimizer_state_dict(
    model: Module, optimizers: Optimizers, *, options: StateDictOptions | None = None
) -> State:
    """The optimizers' state by the bare names of parameters. Collective where they are sharded.

    An optimizer that has not stepped yet takes a step with zero gradients and lr, as in torch, so
    that there is a state to be filled.
    """
    how = options or StateDictOptions()
    state: State = {"state": {}, "param_groups": []}
    with grad_modes.no_grad():
        for one in _listed(optimizers):
            initialise(one)
            found = _named(model, one, how)
            state["state"].update(found["state"])
            state["param_groups"].extend(found["param_groups"])
    return _finished(state, how)


def set_optimizer_state_dict(
    model: Module, optimizers: Optimizers, optim_state_dict: State, *, options: StateDictOptions | None = None
) -> None:
    """Fill the optimizers from what `get_optimizer_state_dict` gave. Call it before a backward or
    after a step. Collective where they are sharded."""
    how = options or StateDictOptions()
    given = _told(optim_state_dict, how)
    if not given:
        raise RuntimeError("optimizer state_dict is required to load, but it is empty")
    fsdp = bool(FullyShardedDataParallel.fsdp_modules(model))
    with grad_modes.no_grad():
        for one in _listed(optimizers):
            initialise(one)
            if fsdp:
                ready = optim_state.to_load(model, one, given, how.strict)
            else:
                names = _parameter_names(model)
                ready = optimizer_names.numbered(one, given, names, _fitted_to, how.strict)
            one.load_state_dict(ready)


def _named(model: Module, optimizer: Optimizer, how: StateDictOptions) -> State:
    if FullyShardedDataParallel.fsdp_modules(model):
        with _as_asked(model, how):
            return FullyShardedDataParallel.optim_state_dict(model, optimizer)
    return optimizer_names.by_name(optimizer, _parameter_names(model))


def _parameter_names(model: Module) -> dict[int, list[str]]:
    """Of each parameter, its names."""
    found: dict[int, list[str]] = {}
    for name, p in model.named_parameters(remove_duplicate=False):
        found.setdefault(id(p), []).append(bare(model, name))
    return found


# ---------------------------------------------------------------------------------------------- both


def get_state_dict(
    model: Module, optimizers: Optimizers, *, options: StateDictOptions | None = None
) -> tuple[State, State]:
    """The model's state and the optimizers'. Collective where they are sharded.

    Args:
        model: The model, under any wrapper.
        optimizers: One, or several.
        options: A StateDictOptions, such as `full_state_dict=True`.

    Returns:
        Two dictionaries, under the bare model's names.

    Example:
        >>> model = nn.Linear(1, 1)
        >>> found, _ = dist.checkpoint.state_dict.get_state_dict(model, optim.SGD(model.parameters()))
        >>> sorted(found)
        ['bias', 'weight']
    """
    state = get_model_state_dict(model, options=options)
    return state, get_optimizer_state_dict(model, optimizers, options=options)


def set_state_dict(
    model: Module,
    optimizers: Optimizers,
    *,
    model_state_dict: State,
    optim_state_dict: State,
    options: StateDictOptions | None = None,
) -> _IncompatibleKeys:
    """Fill model and optimizers. Collective where they are sharded.

    Args:
        model: The model, under any wrapper.
        optimizers: One, or several.
        model_state_dict: The first that `get_state_dict` gave.
        optim_state_dict: The second.
        options: A StateDictOptions.

    Returns:
        The keys that were missing or unexpected.

    Example:
        >>> from minitorch_dist.distributed.checkpoint.state_dict import get_state_dict, set_state_dict
        >>> model = nn.Linear(1, 1)
        >>> optimizer = optim.SGD(model.parameters())
        >>> one, other = get_state_dict(model, optimizer)
        >>> set_state_dict(model, optimizer, model_state_dict=one, optim_state_dict=other)
        <All keys matched successfully>
    """
    listed = _listed(optimizers)
    if listed:
        set_optimizer_state_dict(model, listed, optim_state_dict, options=options)
    return set_model_state_dict(model, model_state_dict, options=options)


def _listed(optimizers: Optimizers) -> list[Optimizer]:
    return [optimizers] if isinstance(optimizers, Optimizer) else list(optimizers)


def _as_asked(model: Module, how: StateDictOptions) -> AbstractContextManager[Any]:
    """FSDP modules give rows, or the whole."""
    if not FullyShardedDataParallel.fsdp_modules(model):
        return nullcontext()
    which = StateDictType.FULL_STATE_DICT if how.full_state_dict else StateDictType.SHARDED_STATE_DICT
    return FullyShardedDataParallel.state_dict_type(model, which)


def fitted(value: Any, like: Any) -> Any:
    """`value`, lying as `like` lies: this rank's part, or the whole."""
    if not isinstance(value, Tensor):
        return value
    if isinstance(like, DTensor) and value.ndim > 0:
        device = value.device if like.device is devices.META else like.device
        return made(DTensor, like.part_of(value), like.device_mesh, like.placements, value.shape, device=device)
    return value.full_tensor() if isinstance(value, DTensor) and like is not None else value


def _fitted_to(value: Any, p: Any) -> Any:
    """A value of a parameter's state: one of its shape lies as it does."""
    is_alike = isinstance(value, Tensor) and tuple(value.shape) == tuple(p.shape)
    return fitted(value, p) if is_alike else value


def _finished(state: State, how: StateDictOptions) -> State:
    """Gathered and moved, as the options say."""

    def one(value: Any) -> Any:
        if isinstance(value, Mapping):
            return {key: one(inner) for key, inner in value.items()}
        if isinstance(value, list):
            return [one(inner) for inner in value]
        if isinstance(value, DTensor) and how.full_state_dict:
            value = value.full_tensor()
        return value.cpu() if isinstance(value, Tensor) and how.cpu_offload else value

    state = one(state)
    alone = how.full_state_dict and how.cpu_offload and distributed_c10d.is_initialized()
    return {} if alone and distributed_c10d.get_rank() != 0 else state


def _told(state: State, how: StateDictOptions) -> State:
    """The state that rank 0 was given, on all ranks; or this rank's own."""
    if not how.broadcast_from_rank0 or not distributed_c10d.is_initialized():
        return state
    sent = [state if distributed_c10d.get_rank() == 0 else None]
    object_collectives.broadcast_object_list(sent, src=0)
    assert sent[0] is not None
    return sent[0]
