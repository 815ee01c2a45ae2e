"""Which kind of state_dict an FSDP model gives: set for a tree, or for a block."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from minitorch_dist.distributed.fsdp.api import (
    STATE_CONFIGS,
    OptimStateDictConfig,
    StateDictConfig,
    StateDictSettings,
    StateDictType,
)
from minitorch_dist.nn.modules.module import Module


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
