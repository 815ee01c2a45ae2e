"""Saving and loading an FSDP model: whole under the model's own names, or each rank its shards.

FULL_STATE_DICT     whole tensors on every rank (or rank 0): what the model would have saved unwrapped
SHARDED_STATE_DICT  each parameter cut along its first dimension, as DTensors; for any number of ranks

Both are collective: a rank that saves alone waits for the others, and the error after the
timeout says so.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import Any, Protocol

from minitorch_dist.distributed.device_mesh import DeviceMesh
from minitorch_dist.distributed.exceptions import DistError
from minitorch_dist.distributed.fsdp.full_params import summoned
from minitorch_dist.distributed.fsdp.options import (
    STATE_CONFIGS,
    FullStateDictConfig,
    OptimStateDictConfig,
    StateDictConfig,
    StateDictSettings,
    StateDictType,
)
from minitorch_dist.distributed.fsdp.unit import Unit
from minitorch_dist.distributed.tensor.dtensor import DTensor, made
from minitorch_dist.distributed.tensor.placements import Shard, cut
from minitorch_dist.distributed.torch_api.process_group import ProcessGroup
from minitorch_dist.nn.modules.module import Module
from minitorch_dist.tensors.core import base
from minitorch_dist.tensors.tensor import Tensor

INNER = "_fsdp_wrapped_module"


class Sharded(Protocol):
    """An FSDP module, as far as saving is concerned."""

    training_state_settings: StateDictSettings
    _unit: Unit | None
    process_group: Any

    @property
    def module(self) -> Module: ...


def save(fsdp: Sharded, destination: Any, prefix: str, keep_vars: bool) -> Any:
    """`state_dict()` of one FSDP module and what is in it, under names without the wrapping."""
    if destination is None:
        destination = OrderedDict()
        destination._metadata = OrderedDict()
    settings = fsdp.training_state_settings
    config = settings.state_dict_config
    alone = isinstance(config, FullStateDictConfig) and config.rank0_only
    with ExitStack() as stack:
        if fsdp._unit is not None:
            try:
                stack.enter_context(
                    summoned(fsdp._unit, fsdp.module, False, alone, config.offload_to_cpu)
                )
            except DistError as error:
                error.add_note(
                    "FSDP's state_dict() gathers from all ranks: every rank has to call it, also where "
                    "only rank 0 saves"
                )
                raise
        fsdp.module.state_dict(destination=destination, prefix=prefix, keep_vars=keep_vars)
        if settings.state_dict_type is StateDictType.SHARDED_STATE_DICT and fsdp._unit is not None:
            names = {prefix + place.fqn for shared in fsdp._unit.places for place in shared}
            mesh = mesh_of(fsdp._unit.settings.group)
            for name in names & destination.keys():
                destination[name] = rows_of(destination[name], mesh)
        if config.offload_to_cpu:
            for name, value in destination.items():
                if name.startswith(prefix) and isinstance(value, Tensor):
                    destination[name] = value.cpu()
    if alone and fsdp.process_group.rank() != 0:
        for name in [name for name in destination if name.startswith(prefix)]:
            del destination[name]
    return destination


def mesh_of(group: ProcessGroup) -> DeviceMesh:
    return DeviceMesh.from_group(group, "cpu")


def rows_of(whole: Tensor, mesh: DeviceMesh) -> Tensor:
    """This rank's rows of a tensor that it has whole; a scalar stays on every rank."""
    if whole.ndim == 0:
        return whole.clone()
    start, stop = cut(whole.shape[0], mesh.size(), mesh.get_local_rank())
    rows = whole.array[start:stop].copy()
    kept = base.new(Tensor, rows, whole.device).storage
    cut_up: Tensor = made(DTensor, rows, mesh, (Shard(0),), tuple(whole.shape), kept)
    return cut_up


class Loading:
    """Hooks around `load_state_dict` of one FSDP module: gather, rename; shard again."""

    def __init__(self, fsdp: Any) -> None:
        self._fsdp, self._stack = fsdp, ExitStack()
        fsdp._register_load_state_dict_pre_hook(self.before)
        fsdp.register_load_state_dict_post_hook(self.after)

    def before(self, state_dict: dict[str, Any], prefix: str, *_: Any) -> None:
        """Names come without the wrapping; values are written into whole parameters."""
        fsdp: Sharded = self._fsdp
        inside = f"{prefix}{INNER}."
        for name in [name for name in state_dict if name.startswith(prefix)]:
            if not name.startswith(inside):
                value = state_dict.pop(name)
                if isinstance(value, DTensor):
                    value = value.full_tensor()
                state_dict[inside + name[len(prefix) :]] = value
        if fsdp._unit is not None:
            self._stack.enter_context(summoned(fsdp._unit, fsdp.module, True, False, False))

    def after(self, *_: Any) -> None:
        self._stack.close()


# ------------------------------------------------------------------------ which kind is asked for


def sharded_modules(module: Module) -> list[Any]:
    """The FSDP modules in the tree."""
    return [m for m in module.modules() if "training_state_settings" in m.__dict__]


def set_state_dict_type(
    module: Module,
    state_dict_type: StateDictType,
    state_dict_config: StateDictConfig | None = None,
    optim_state_dict_config: OptimStateDictConfig | None = None,
) -> StateDictSettings:
    """Set the kind of state dict that the FSDP modules in the tree give from now on."""
    one, other = STATE_CONFIGS[state_dict_type]
    config, optim = state_dict_config or one(), optim_state_dict_config or other()
    if type(config) is not one or type(optim) is not other:
        raise RuntimeError(
            f"Expected state_dict_config of type {one} but got {type(config)} (and for the "
            f"optimizer {other}, got {type(optim)})"
        )
    before = get_state_dict_type(module)
    for each in sharded_modules(module):
        each.training_state_settings = StateDictSettings(state_dict_type, config, optim)
    return before


@contextmanager
def state_dict_type(
    module: Module,
    state_dict_type: StateDictType,
    state_dict_config: StateDictConfig | None = None,
    optim_state_dict_config: OptimStateDictConfig | None = None,
) -> Iterator[None]:
    """As `set_state_dict_type`, for a block."""
    before = set_state_dict_type(
        module, state_dict_type, state_dict_config, optim_state_dict_config
    )
    try:
        yield
    finally:
        for each in sharded_modules(module):
            each.training_state_settings = before


def get_state_dict_type(module: Module) -> StateDictSettings:
    found = sharded_modules(module)
    if not found:
        return StateDictSettings()
    if any(m.training_state_settings != found[0].training_state_settings for m in found):
        raise AssertionError("All FSDP modules must have the same state dict settings.")
    settings: StateDictSettings = found[0].training_state_settings
    return settings
