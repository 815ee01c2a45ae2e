"""Fully sharded data parallelism: every rank keeps 1/P of the model, and borrows the rest.

`lessons/21_fsdp/sharded.py` has one unit in its simplest form. Read it first.

options                      torch's options
shard_layout                 where each parameter lies
pages                        memory that comes and goes at one address
gathering                    parameters that are whole while they are needed
unit                         one wrapped module: its parameters and their gradients
prefetch                     what happens when, from the first forward to the end of backward
wrap                         which modules become units
setup                        for which ranks, and on which device
fully_shard                  torch's function, "FSDP2"
fully_sharded_data_parallel  torch's class, "FSDP1", on the same units
clipping                     the norm of gradients that no rank has whole
saving                       whole parameters for a while; the model's state, whole or sharded
optimizer_names              an optimizer's state by names instead of numbers
optim_state                  the same of shards: whole and by name, and back
"""

from minitorch_dist.distributed.fsdp.fully_shard import (
    FSDPModule as FSDPModule,
    UnshardHandle as UnshardHandle,
    fully_shard as fully_shard,
)
from minitorch_dist.distributed.fsdp.fully_sharded_data_parallel import (
    FullyShardedDataParallel as FullyShardedDataParallel,
)
from minitorch_dist.distributed.fsdp.options import (
    BackwardPrefetch as BackwardPrefetch,
    CPUOffload as CPUOffload,
    CPUOffloadPolicy as CPUOffloadPolicy,
    FullOptimStateDictConfig as FullOptimStateDictConfig,
    FullStateDictConfig as FullStateDictConfig,
    MixedPrecision as MixedPrecision,
    MixedPrecisionPolicy as MixedPrecisionPolicy,
    OffloadPolicy as OffloadPolicy,
    ShardedOptimStateDictConfig as ShardedOptimStateDictConfig,
    ShardedStateDictConfig as ShardedStateDictConfig,
    ShardingStrategy as ShardingStrategy,
    StateDictSettings as StateDictSettings,
    StateDictType as StateDictType,
)
from minitorch_dist.inventory import not_offered

not_offered.guard(globals())
