"""The former address of the placements."""

from minitorch_dist.distributed.tensor.placements import (
    Partial as Partial,
    Placement as Placement,
    Replicate as Replicate,
    Shard as Shard,
)
