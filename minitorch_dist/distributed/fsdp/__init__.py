"""Fully sharded data parallelism: every rank keeps 1/P of the model, and borrows the rest.

plain                        one unit in its simplest form. Read it first
options                      torch's options
shard_layout                 where each parameter lies
pages                        memory that comes and goes at one address
gathering                    parameters that are whole while they are needed
unit                         one wrapped module: its parameters and their gradients
prefetch                     what happens when, from the first forward to the end of backward
wrap                         which modules become units
setup                        for which ranks, and on which device
fully_sharded_data_parallel  torch's class, "FSDP1"
fully_shard                  torch's function, "FSDP2"
full_params                  whole parameters for a while
clipping                     the norm of gradients that no rank has whole
saving                       the model's state: whole or sharded
optim_state                  the optimizer's state, from flat to named and back
"""

from minitorch_dist import not_offered
from minitorch_dist.distributed.fsdp.fully_shard import (
    CPUOffloadPolicy as CPUOffloadPolicy,
    FSDPModule as FSDPModule,
    MixedPrecisionPolicy as MixedPrecisionPolicy,
    OffloadPolicy as OffloadPolicy,
    UnshardHandle as UnshardHandle,
    fully_shard as fully_shard,
)
from minitorch_dist.distributed.fsdp.fully_sharded_data_parallel import (
    FullyShardedDataParallel as FullyShardedDataParallel,
)
from minitorch_dist.distributed.fsdp.options import (
    BackwardPrefetch as BackwardPrefetch,
    CPUOffload as CPUOffload,
    FullOptimStateDictConfig as FullOptimStateDictConfig,
    FullStateDictConfig as FullStateDictConfig,
    MixedPrecision as MixedPrecision,
    OptimStateDictConfig as OptimStateDictConfig,
    ShardedOptimStateDictConfig as ShardedOptimStateDictConfig,
    ShardedStateDictConfig as ShardedStateDictConfig,
    ShardingStrategy as ShardingStrategy,
    StateDictConfig as StateDictConfig,
    StateDictSettings as StateDictSettings,
    StateDictType as StateDictType,
)
from minitorch_dist.distributed.fsdp.unit import FlatParameter as FlatParameter

not_offered.guard(globals())
