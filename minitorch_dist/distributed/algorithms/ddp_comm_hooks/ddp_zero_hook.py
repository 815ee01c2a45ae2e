"""Steps of a ZeroRedundancyOptimizer within backward, bucket by bucket.

    reduce 0 ─ step 0 ─ send 0
         reduce 1 ─ step 1 ─ send 1        new parameters of one bucket travel
              reduce 2 ─ step 2 ─ send 2   while the next one is still computed with

As soon as a bucket's gradients are averaged, each rank steps for those of its parameters that it owns. The
owners send them to all. Unlike in torch, each iteration has an update: the owner of a parameter does
not depend on the buckets.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol

import numpy as np

from minitorch_dist.distributed.algorithms.ddp_comm_hooks.deferred import DeferredFuture
from minitorch_dist.distributed.grad_bucket import GradBucket
from minitorch_dist.distributed.torch_api.process_group import ProcessGroup
from minitorch_dist.distributed.torch_api.tensor_collectives import all_gather
from minitorch_dist.distributed.work import Work
from minitorch_dist.futures import Future
from minitorch_dist.tensors.core import base
from minitorch_dist.tensors.core.base import Array, TensorBase
from minitorch_dist.tensors.tensor import Tensor

Hook = Callable[[Any, GradBucket], Future[Any]]


class Stepping(Protocol):
    """The part of a ZeroRedundancyOptimizer that the hook needs."""

    process_group: ProcessGroup
    rank: int
    world_size: int
    _overlap_with_ddp: bool

    def step_of(self, parameters: list[TensorBase]) -> None: ...
    def owner_of(self, parameter: TensorBase) -> int: ...


class _Travelling:
    """The parameters of one bucket on their way from their owners to all."""

    def __init__(self, zero: Stepping, parameters: list[TensorBase]) -> None:
        self.zero = zero
        self.members: list[list[TensorBase]] = [[] for _ in range(zero.world_size)]
        for p in parameters:
            self.members[zero.owner_of(p)].append(p)
        dtype = parameters[0].array.dtype
        self.arrays: list[Array] = [
            np.concatenate([np.empty(0, dtype), *[p.array.reshape(-1) for p in members]])
            for members in self.members
        ]
        outputs: list[Any] = [base.new(Tensor, array) for array in self.arrays]
        self.work: Work | None = None
        if zero.world_size > 1:
            group = zero.process_group
            self.work = all_gather(outputs, outputs[zero.rank], group=group, async_op=True)

    def arrive(self) -> None:
        if self.work is None:
            return
        self.work.wait()
        for rank, members in enumerate(self.members):
            stop = 0
            for p in members if rank != self.zero.rank else ():
                start, stop = stop, stop + p.array.size
                p.array[...] = self.arrays[rank][start:stop].reshape(p.array.shape)
                p.storage.version += 1


def hook_with_zero_step(hook: Hook, ddp: Any, zero: Stepping, shard_buckets: bool = False) -> Hook:
    """`hook`, and after it a step of `zero` for each bucket: for `ddp.register_comm_hook`.

    `zero` must have been made with `overlap_with_ddp=True`; `optimizer.step()` is not called then.
    Parameters are owned one by one, with `shard_buckets` or without.
    """
    if not zero._overlap_with_ddp:
        raise ValueError(
            "ZeroRedundancyOptimizer must be constructed with `overlap_with_ddp=True` to use this "
            "hook properly"
        )
    travelling: list[_Travelling] = []

    def hook_with_zero_fn(state: Any, bucket: GradBucket) -> Future[Any]:
        reduced = hook(state, bucket)

        def step() -> Any:
            found: Any = reduced.wait()
            result = found[0] if isinstance(found, list) else found
            parameters, stop = bucket.parameters(), 0
            for p in parameters:
                start, stop = stop, stop + p.array.size
                part = result.array.reshape(-1)[start:stop].reshape(p.array.shape)
                p._grad = base.new(Tensor, part.astype(p.array.dtype), p.storage.device)
            zero.step_of(parameters)
            travelling.append(_Travelling(zero, parameters))
            if bucket.is_last():
                while travelling:
                    travelling.pop(0).arrive()
            return result

        return DeferredFuture(step)

    return hook_with_zero_fn


def hook_with_zero_step_interleaved(
    hook: Hook, ddp: Any, zero: Stepping, shard_buckets: bool = False
) -> Hook:
    """The same: here the steps of all buckets are between their reductions anyway."""
    return hook_with_zero_step(hook, ddp, zero, shard_buckets)
