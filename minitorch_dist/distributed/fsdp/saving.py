"""Saving and loading an FSDP model: whole under the model's own names, or each rank its shards.

FULL_STATE_DICT     whole tensors on every rank (or rank 0): what the model would have saved unwrapped
SHARDED_STATE_DICT  each parameter cut along its first dimension, as DTensors; for any number of ranks

Saving is collective: a rank that saves alone waits for the others, and the error after the
timeout says so. In loading each rank takes its pieces of what it is given.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from typing import Any

from minitorch_dist.distributed.device_mesh import DeviceMesh
from minitorch_dist.distributed.exceptions import DistError
from minitorch_dist.distributed.fsdp.options import SHARDED, StateDictSettings, StateDictType
from minitorch_dist.distributed.fsdp.unit import Unit
from minitorch_dist.distributed.tensor.dtensor import DTensor, made
from minitorch_dist.distributed.tensor.placements import Shard, cut
from minitorch_dist.nn.modules.module import Module
from minitorch_dist.tensors import devices
from minitorch_dist.tensors.core import base
from minitorch_dist.tensors.tensor import Tensor

INNER = "_fsdp_wrapped_module"


@contextmanager
def summoned(unit: Unit, writeback: bool, rank0_only: bool = False, offload_to_cpu: bool = False) -> Iterator[None]:
    """Let the parameters of one unit be whole, for those who look at them or write into them."""
    if writeback and rank0_only:
        raise NotImplementedError(
            "writeback=True and rank0_only=True is not supported: what rank 0 writes would have to "
            "reach the shards of the others"
        )
    if unit.in_backward or unit.is_summoned:
        raise AssertionError(f"summon_full_params inside of {'backward' if unit.in_backward else 'itself'}: {unit!r}")
    unit.reshard()
    own = unit.settings.device
    device = devices.CPU if offload_to_cpu else own
    try:
        whole = unit.put_together(unit.flat.array)
    except DistError as error:
        error.add_note(
            "FSDP's state_dict() gathers from all ranks: every rank has to call it, also where only rank 0 saves"
        )
        raise
    if unit.layout.ranks == 1 and (device is not own or not writeback):
        whole = whole.copy()
    held = [p._grad for p in unit.originals]
    unit.is_summoned = True
    if not rank0_only or unit.settings.group.rank() == 0:
        unit.show(whole, device)
        for p in unit.originals:
            p._grad = None
    try:
        yield
    finally:
        for p, kept in zip(unit.originals, held, strict=True):
            p._grad = kept
        if writeback:
            unit.put(whole)
        unit.is_summoned = False
        unit.show_shards()


def save(fsdp: Any, destination: Any, prefix: str, keep_vars: bool) -> Any:
    """`state_dict()` of one FSDP module and what is in it, under names without the wrapping."""
    unit, settings = fsdp._state.unit, fsdp.training_state_settings
    config = settings.state_dict_config
    with nullcontext() if unit is None else summoned(unit, False, config.rank0_only, config.offload_to_cpu):
        destination = fsdp.module.state_dict(destination=destination, prefix=prefix, keep_vars=keep_vars)
        own = [name for name in destination if name.startswith(prefix)]
        if settings.state_dict_type is StateDictType.SHARDED_STATE_DICT and unit is not None:
            mesh = DeviceMesh.from_group(unit.settings.group, "cpu")
            for name in {prefix + name for name, _ in _numbered(unit)} & destination.keys():
                destination[name] = rows_of(destination[name], mesh)
        for name in own if config.offload_to_cpu else ():
            if isinstance(destination[name], Tensor):
                destination[name] = destination[name].cpu()
    if config.rank0_only and fsdp.process_group.rank() != 0:
        for name in own:
            del destination[name]
    return destination


def rows_of(whole: Tensor, mesh: DeviceMesh) -> Tensor:
    """This rank's rows of a tensor that it has whole; a scalar stays on every rank."""
    if whole.ndim == 0:
        return whole.clone()
    start, stop = cut(whole.shape[0], mesh.size(), mesh.get_local_rank())
    rows = whole.array[start:stop].copy()
    kept = base.new(Tensor, rows, whole.device).storage
    cut_up: Tensor = made(DTensor, rows, mesh, (Shard(0),), tuple(whole.shape), kept)
    return cut_up


def _numbered(unit: Unit) -> Iterator[tuple[str, int]]:
    """All names of the unit's parameters, and their numbers."""
    for number, shared in enumerate(unit.places):
        for place in shared:
            yield place.fqn, number


def give_pieces(fsdp: Any, state_dict: dict[str, Any], prefix: str, *_: Any) -> None:
    """Before `load_state_dict`: names come without the wrapping, and each rank takes its piece of whole values."""
    unit = fsdp._state.unit
    numbers = {} if unit is None else dict(_numbered(unit))
    if unit is not None:
        unit.reshard()
    inside = f"{prefix}{INNER}."
    for name in [name for name in state_dict if name.startswith(prefix)]:
        if not name.startswith(inside):
            value, bare = state_dict.pop(name), name[len(prefix) :]
            if isinstance(value, DTensor):
                value = value.full_tensor()
            if bare in numbers:
                value = unit.piece_of(value, numbers[bare])
            state_dict[inside + bare] = value


# ------------------------------------------------------------------------ which kind is asked for


@contextmanager
def state_dict_type(
    module: Module, state_dict_type: StateDictType, state_dict_config: Any = None, optim_state_dict_config: Any = None
) -> Iterator[None]:
    """Within the block the FSDP modules in the tree give state dicts of this kind."""
    usual = StateDictSettings() if state_dict_type is StateDictType.FULL_STATE_DICT else SHARDED
    asked = StateDictSettings(
        state_dict_type,
        state_dict_config or usual.state_dict_config,
        optim_state_dict_config or usual.optim_state_dict_config,
    )
    before = {m: m.training_state_settings for m in _sharded_modules(module)}
    for each in before:
        each.training_state_settings = asked
    try:
        yield
    finally:
        for each, settings in before.items():
            each.training_state_settings = settings


def settings_of(module: Module) -> StateDictSettings:
    return next((m.training_state_settings for m in _sharded_modules(module)), StateDictSettings())


def _sharded_modules(module: Module) -> list[Any]:
    return [m for m in module.modules() if "training_state_settings" in m.__dict__]
