"""A learner's all_reduce under DistributedDataParallel: P ranks must end with the weights of one.

training.with_ddp(ring.all_reduce)         raises AssertionError where they differ, by as little as a bit
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import minitorch_dist.distributed as dist
from minitorch_dist.futures import Future
from minitorch_dist.nn.modules.module import Module
from minitorch_dist.nn.parallel import DistributedDataParallel
from minitorch_dist.optim import SGD
from minitorch_dist.testing import check_same_as_one_rank, exact


def with_ddp(all_reduce: Callable[[Any], Any], sizes: Sequence[int] = (1, 2, 3, 5)) -> None:
    """Train on that many ranks, in exact mode, with `all_reduce(gradients)` for every bucket."""

    def averaged(state: Any, bucket: dist.GradBucket) -> Future[Any]:
        gradients: Any = bucket.buffer()
        all_reduce(gradients)
        future: Future[Any] = Future()
        future.set_result(gradients / dist.get_world_size())
        return future

    def train(batches: list[exact.Data]) -> Module:
        model = DistributedDataParallel(exact.Model())
        model.register_comm_hook(None, averaged)
        optimizer = SGD(model.parameters(), lr=exact.RATE)
        for batch in batches:
            exact.step(model, optimizer, batch, ranks=dist.get_world_size())
        return model

    check_same_as_one_rank(train, sizes=sizes)
