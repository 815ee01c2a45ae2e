"""Optimizers that are spread over ranks."""

from minitorch_dist import not_offered
from minitorch_dist.distributed.optim.apply_optimizer_in_backward import (
    _apply_optimizer_in_backward as _apply_optimizer_in_backward,
    _get_in_backward_optimizers as _get_in_backward_optimizers,
)
from minitorch_dist.distributed.optim.optimizer import DistributedOptimizer as DistributedOptimizer
from minitorch_dist.distributed.optim.zero_redundancy_optimizer import (
    ZeroRedundancyOptimizer as ZeroRedundancyOptimizer,
)

not_offered.guard(globals())
