"""The options of FSDP: how much is sharded, when it is fetched, in which precision, what is saved."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum, auto

from minitorch_dist.tensors import dtypes


class ShardingStrategy(Enum):
    """The things of which each rank keeps only a part, and the time when the whole of them is freed.

    ================== ============================ ======================================
    FULL_SHARD         parameters, gradients, state whole during a unit's forward and backward
    SHARD_GRAD_OP      parameters, gradients, state whole from forward until backward is done
    NO_SHARD           nothing: as DDP              always whole
    HYBRID_SHARD       FULL_SHARD within a node     gradients also averaged across nodes
    ================== ============================ ======================================
    """

    FULL_SHARD = auto()
    SHARD_GRAD_OP = auto()
    NO_SHARD = auto()
    HYBRID_SHARD = auto()

    @property
    def is_hybrid(self) -> bool:
        return self is ShardingStrategy.HYBRID_SHARD

    @property
    def frees_after_forward(self) -> bool:
        return self in (ShardingStrategy.FULL_SHARD, ShardingStrategy.HYBRID_SHARD)


class BackwardPrefetch(Enum):
    """When backward asks for the next unit's parameters: before or after computing this one's."""

    BACKWARD_PRE = auto()
    BACKWARD_POST = auto()


@dataclass
class MixedPrecision:
    """The types in which is computed, reduced, and kept in buffers. Shards keep their own type."""

    param_dtype: dtypes.dtype | None = None
    reduce_dtype: dtypes.dtype | None = None
    buffer_dtype: dtypes.dtype | None = None
    cast_forward_inputs: bool = False
    cast_root_forward_inputs: bool = True


@dataclass
class CPUOffload:
    """Shards and their gradients live on the CPU; only what is computed with is on the device."""

    offload_params: bool = False


class StateDictType(Enum):
    FULL_STATE_DICT = auto()
    SHARDED_STATE_DICT = auto()


@dataclass
class StateDictConfig:
    offload_to_cpu: bool = False


@dataclass
class FullStateDictConfig(StateDictConfig):
    rank0_only: bool = False


@dataclass
class ShardedStateDictConfig(StateDictConfig):
    pass


@dataclass
class OptimStateDictConfig:
    offload_to_cpu: bool = True


@dataclass
class FullOptimStateDictConfig(OptimStateDictConfig):
    rank0_only: bool = False


@dataclass
class ShardedOptimStateDictConfig(OptimStateDictConfig):
    pass


@dataclass
class StateDictSettings:
    """The settings of one FSDP module for state dicts; `set_state_dict_type` returns them."""

    state_dict_type: StateDictType = StateDictType.FULL_STATE_DICT
    state_dict_config: StateDictConfig = field(default_factory=FullStateDictConfig)
    optim_state_dict_config: OptimStateDictConfig = field(default_factory=FullOptimStateDictConfig)


STATE_CONFIGS: dict[StateDictType, tuple[type[StateDictConfig], type[OptimStateDictConfig]]] = {
    StateDictType.FULL_STATE_DICT: (FullStateDictConfig, FullOptimStateDictConfig),
    StateDictType.SHARDED_STATE_DICT: (ShardedStateDictConfig, ShardedOptimStateDictConfig),
}
