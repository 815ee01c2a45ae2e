"""Hooks of the user, which communicate in place of DDP: for the buckets of gradients, and for buffers."""

from __future__ import annotations

from collections.abc import Callable
from enum import Enum, auto
from typing import Any, NamedTuple

from minitorch_dist.distributed.ddp.buckets import Bucket
from minitorch_dist.distributed.ddp.reducer import Reducer, Wait
from minitorch_dist.distributed.grad_bucket import GradBucket

Hook = Callable[[Any, GradBucket], Any]


class _BufferCommHookLocation(Enum):  # torch's name
    PRE_FORWARD = auto()
    POST_FORWARD = auto()


class BufferHook(NamedTuple):
    """`hook(state, named_buffers)` makes them equal; it may return futures, which backward awaits."""

    hook: Callable[..., Any]
    state: Any
    location: _BufferCommHookLocation


def reduce_with(reducer: Reducer, state: object, hook: Hook) -> None:
    """Let `hook(state, bucket)` reduce the buckets: it returns a Future of the flat result."""

    def begin(reducer: Reducer, bucket: Bucket) -> Wait:
        future = hook(state, bucket.as_seen_by_hooks(bucket is reducer.buckets[-1]))

        def wait() -> None:
            found = future.wait()
            reducer.is_back(bucket)
            flat = found[0] if isinstance(found, (list, tuple)) else found
            if flat is not bucket.flat:
                bucket.flat.array[...] = flat.array.reshape(-1)

        return wait

    reducer.reduce_with(begin)
