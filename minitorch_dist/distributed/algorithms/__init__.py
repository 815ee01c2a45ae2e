"""Tools that are built from collectives: shadowing ranks that are done, and other ways to reduce gradients."""

from minitorch_dist import not_offered
from minitorch_dist.distributed.algorithms.join import (
    Join as Join,
    Joinable as Joinable,
    JoinHook as JoinHook,
)

not_offered.guard(globals())
