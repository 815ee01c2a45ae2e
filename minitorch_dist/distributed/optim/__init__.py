"""Optimizers that are spread over ranks, or average over them."""

from minitorch_dist.distributed.optim.optimizer import DistributedOptimizer as DistributedOptimizer
from minitorch_dist.distributed.optim.post_localSGD_optimizer import (
    PostLocalSGDOptimizer as PostLocalSGDOptimizer,
)
from minitorch_dist.distributed.optim.zero_redundancy_optimizer import (
    ZeroRedundancyOptimizer as ZeroRedundancyOptimizer,
)
