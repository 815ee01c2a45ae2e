"""Fully sharded data parallelism: every rank keeps 1/P of the model, and borrows the rest.

api                     what one may choose
layout  pages           where each parameter lies; memory that comes and goes at one address
gathering  unit         parameters that are whole while they are needed, and their gradients
course                  what happens when, from the first forward to the end of backward
wrap  placing           which modules become units; for which ranks, on which device
fully_sharded_data_parallel, fully_shard      what one writes (torch's "FSDP1" and "FSDP2")
summoning  clipping     whole parameters for a while; the norm that no rank has whole
saving  state_settings  the model's state: whole, local or sharded
optim_state  optim_saving      the optimizer's
sharded_grad_scaler     all skip a step where one found inf or nan
"""

from minitorch_dist.distributed.fsdp.api import (
    BackwardPrefetch as BackwardPrefetch,
    CPUOffload as CPUOffload,
    FullOptimStateDictConfig as FullOptimStateDictConfig,
    FullStateDictConfig as FullStateDictConfig,
    LocalOptimStateDictConfig as LocalOptimStateDictConfig,
    LocalStateDictConfig as LocalStateDictConfig,
    MixedPrecision as MixedPrecision,
    OptimStateDictConfig as OptimStateDictConfig,
    ShardedOptimStateDictConfig as ShardedOptimStateDictConfig,
    ShardedStateDictConfig as ShardedStateDictConfig,
    ShardingStrategy as ShardingStrategy,
    StateDictConfig as StateDictConfig,
    StateDictSettings as StateDictSettings,
    StateDictType as StateDictType,
)
from minitorch_dist.distributed.fsdp.fully_shard import (
    CPUOffloadPolicy as CPUOffloadPolicy,
    FSDPModule as FSDPModule,
    MixedPrecisionPolicy as MixedPrecisionPolicy,
    OffloadPolicy as OffloadPolicy,
    UnshardHandle as UnshardHandle,
    fully_shard as fully_shard,
    register_fsdp_forward_method as register_fsdp_forward_method,
)
from minitorch_dist.distributed.fsdp.fully_sharded_data_parallel import (
    FullyShardedDataParallel as FullyShardedDataParallel,
)
from minitorch_dist.distributed.fsdp.unit import FlatParameter as FlatParameter
