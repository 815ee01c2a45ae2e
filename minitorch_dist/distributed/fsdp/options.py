"""The options of FSDP: how much is sharded, when it is fetched, in which precision, what is saved."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum, auto
from typing import Any, ClassVar

from minitorch_dist.tensors import dtypes


class ShardingStrategy(Enum):
    """The things of which each rank keeps only a part, and the time when the whole of them is freed.

    ================== ============================ ======================================
    FULL_SHARD         parameters, gradients, state whole during a unit's forward and backward
    SHARD_GRAD_OP      parameters, gradients, state whole from forward until backward is done
    NO_SHARD           nothing: as DDP              always whole
    HYBRID_SHARD       FULL_SHARD within a node     gradients also averaged across nodes
    ================== ============================ ======================================

    Example:
        >>> dist.fsdp.ShardingStrategy.SHARD_GRAD_OP.name
        'SHARD_GRAD_OP'
    """

    FULL_SHARD = auto()
    SHARD_GRAD_OP = auto()
    NO_SHARD = auto()
    HYBRID_SHARD = auto()

    @property
    def is_hybrid(self) -> bool:
        return self is ShardingStrategy.HYBRID_SHARD


class BackwardPrefetch(Enum):
    """When backward asks for the next unit's parameters: before or after computing this one's.

    Example:
        >>> [one.name for one in dist.fsdp.BackwardPrefetch]
        ['BACKWARD_PRE', 'BACKWARD_POST']
    """

    BACKWARD_PRE = auto()
    BACKWARD_POST = auto()


@dataclass(frozen=True)
class MixedPrecisionPolicy:
    """The types in which `fully_shard` computes, reduces and returns. Shards keep their own.

    Args:
        param_dtype: The type of gathered parameters.
        reduce_dtype: The type in which gradients are added up.
        output_dtype: The type of the module's outputs.
        cast_forward_inputs: Cast the inputs to `param_dtype`.

    Example:
        >>> dist.fsdp.MixedPrecisionPolicy(reduce_dtype=torch.float32).reduce_dtype
        torch.float32
    """

    param_dtype: dtypes.dtype | None = None
    reduce_dtype: dtypes.dtype | None = None
    output_dtype: dtypes.dtype | None = None
    cast_forward_inputs: bool = True

    def of_inputs(self, is_root: bool | None) -> dtypes.dtype | None:
        """The type to which a unit's inputs are cast."""
        return self.param_dtype if self.cast_forward_inputs else None


@dataclass
class MixedPrecision:
    """The types in which is computed, reduced, and kept in buffers. Shards keep their own type.

    Args:
        param_dtype: The type of gathered parameters.
        reduce_dtype: The type in which gradients are added up.
        buffer_dtype: The type of buffers.
        cast_forward_inputs: Cast the inputs of each unit.
        cast_root_forward_inputs: Cast the inputs of the outermost unit.

    Example:
        >>> dist.fsdp.MixedPrecision(param_dtype=torch.bfloat16).param_dtype
        torch.bfloat16
    """

    param_dtype: dtypes.dtype | None = None
    reduce_dtype: dtypes.dtype | None = None
    buffer_dtype: dtypes.dtype | None = None
    cast_forward_inputs: bool = False
    cast_root_forward_inputs: bool = True
    output_dtype: ClassVar[None] = None

    def of_inputs(self, is_root: bool | None) -> dtypes.dtype | None:
        """The type to which a unit's inputs are cast; the outermost one has a word of its own."""
        casts = self.cast_root_forward_inputs if is_root else self.cast_forward_inputs
        return self.param_dtype if casts else None


Precision = MixedPrecisionPolicy | MixedPrecision


@dataclass
class CPUOffload:
    """Shards and their gradients live on the CPU; only what is computed with is on the device.

    Args:
        offload_params: Whether they do.

    Example:
        >>> dist.fsdp.CPUOffload(offload_params=True).offload_params
        True
    """

    offload_params: bool = False


@dataclass
class OffloadPolicy:
    """Shards stay where they are computed with."""


@dataclass
class CPUOffloadPolicy(OffloadPolicy):
    """The same as `CPUOffload(offload_params=True)`, for `fully_shard`."""

    pin_memory: bool = True


class StateDictType(Enum):
    FULL_STATE_DICT = auto()
    SHARDED_STATE_DICT = auto()


@dataclass
class FullStateDictConfig:
    offload_to_cpu: bool = False
    rank0_only: bool = False


@dataclass
class ShardedStateDictConfig:
    offload_to_cpu: bool = False
    rank0_only: ClassVar[bool] = False


@dataclass
class FullOptimStateDictConfig(FullStateDictConfig):
    offload_to_cpu: bool = True


@dataclass
class ShardedOptimStateDictConfig(ShardedStateDictConfig):
    offload_to_cpu: bool = True


@dataclass
class StateDictSettings:
    """The settings of an FSDP module for state dicts."""

    state_dict_type: StateDictType = StateDictType.FULL_STATE_DICT
    state_dict_config: Any = field(default_factory=FullStateDictConfig)
    optim_state_dict_config: Any = field(default_factory=FullOptimStateDictConfig)


SHARDED = StateDictSettings(StateDictType.SHARDED_STATE_DICT, ShardedStateDictConfig(), ShardedOptimStateDictConfig())
