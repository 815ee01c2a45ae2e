"""The former address of `fully_shard`."""

from minitorch_dist.distributed.fsdp import (
    CPUOffloadPolicy as CPUOffloadPolicy,
    FSDPModule as FSDPModule,
    MixedPrecisionPolicy as MixedPrecisionPolicy,
    OffloadPolicy as OffloadPolicy,
    fully_shard as fully_shard,
)
