"""Post-local SGD (Lin et al. 2018, arXiv:1808.07217): average everywhere at first, then only nearby.

After `start_localSGD_iter` iterations gradients are averaged within a subgroup (the ranks of a host,
say) or not at all. The models themselves are then averaged from time to time (see
`model_averaging.averagers` and `optim.PostLocalSGDOptimizer`).
"""

from __future__ import annotations

from typing import Any

from minitorch_dist.distributed import distributed_c10d
from minitorch_dist.distributed.algorithms.ddp_comm_hooks.default_hooks import averaged
from minitorch_dist.distributed.grad_bucket import GradBucket
from minitorch_dist.distributed.torch_api.process_group import ProcessGroup
from minitorch_dist.futures import Future


class PostLocalSGDState:
    """`subgroup`: the ranks that average later (default: those of one host's devices)."""

    def __init__(
        self,
        process_group: ProcessGroup | None,
        subgroup: ProcessGroup | None,
        start_localSGD_iter: int,
        post_local_gradient_allreduce: bool = True,
    ) -> None:
        self.process_group, self.subgroup = process_group, subgroup
        self.start_localSGD_iter = start_localSGD_iter
        self.post_local_gradient_allreduce = post_local_gradient_allreduce
        self.iter = 0

    def maybe_increase_iter(self, bucket: GradBucket) -> None:
        """Count iterations: they end with the last bucket."""
        if bucket.is_last():
            self.iter += 1

    def __repr__(self) -> str:
        where = "everywhere" if self.iter < self.start_localSGD_iter else "nearby"
        return f"<PostLocalSGDState: iteration {self.iter}, averages {where}>"


def post_localSGD_hook(state: PostLocalSGDState, bucket: GradBucket) -> Future[Any]:
    iteration = state.iter
    state.maybe_increase_iter(bucket)
    if iteration < state.start_localSGD_iter:
        return averaged(state.process_group, bucket.buffer())
    if not state.post_local_gradient_allreduce:
        future = Future[Any]()
        future.set_result(bucket.buffer())
        return future
    if state.subgroup is None:
        state.subgroup = distributed_c10d.new_subgroups()[0]
    return averaged(state.subgroup, bucket.buffer())
