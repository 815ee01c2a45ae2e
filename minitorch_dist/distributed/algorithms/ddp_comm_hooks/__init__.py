"""Other ways to reduce the gradients of DDP: fewer bytes for less exact gradients, or less often.

ddp.register_comm_hook(state, hook)         hook(state, bucket) returns a Future of the result

default_hooks             the average, in full precision or in 16 bits
quantization_hooks        eight bits a value
powerSGD_hook             products of two thin matrices
post_localSGD_hook        everywhere at first, then only nearby
ddp_zero_hook             steps of a ZeroRedundancyOptimizer within backward
debugging_hooks           no communication at all
deferred                  a future whose value is computed by the thread that waits for it
"""

from __future__ import annotations

from collections.abc import Callable
from enum import Enum
from functools import partial
from typing import Any

from minitorch_dist import not_offered
from minitorch_dist.distributed.algorithms.ddp_comm_hooks import (
    debugging_hooks as debugging,
    default_hooks as default,
    powerSGD_hook as powerSGD,
    quantization_hooks as quantization,
)

__all__ = ["DDPCommHookType", "register_ddp_comm_hook"]

Registers = Callable[[Any, Any], None]


def _plain(hook: Callable[..., Any]) -> Registers:
    return lambda model, state: model.register_comm_hook(state, hook)


def _power(hook: Callable[..., Any], rank: int) -> Registers:
    def register(model: Any, state: Any) -> None:
        model.register_comm_hook(powerSGD.PowerSGDState(state, rank), hook)

    return register


class DDPCommHookType(Enum):
    """The hooks by name. Each value registers its hook: `DDPCommHookType.NOOP.value(model, state)`."""

    ALLREDUCE = partial(_plain(default.allreduce_hook))
    FP16_COMPRESS = partial(_plain(default.fp16_compress_hook))
    BF16_COMPRESS = partial(_plain(default.bf16_compress_hook))
    QUANTIZE_PER_TENSOR = partial(_plain(quantization.quantization_pertensor_hook))
    QUANTIZE_PER_CHANNEL = partial(_plain(quantization.quantization_perchannel_hook))
    POWER_SGD = partial(_power(powerSGD.powerSGD_hook, 1))
    POWER_SGD_RANK2 = partial(_power(powerSGD.powerSGD_hook, 2))
    BATCHED_POWER_SGD = partial(_power(powerSGD.batched_powerSGD_hook, 1))
    BATCHED_POWER_SGD_RANK2 = partial(_power(powerSGD.batched_powerSGD_hook, 2))
    NOOP = partial(_plain(debugging.noop_hook))


def register_ddp_comm_hook(comm_hook_type: DDPCommHookType, model: Any, state: Any = None) -> None:
    """Register one of the hooks above with a DistributedDataParallel. `state` is a process group."""
    comm_hook_type.value(model, state)


not_offered.guard(globals())
