"""The average, in full precision or in 16 bits.

fp16_compress: half the bytes; each value is rounded to 11 bits before it is added up.
bf16_compress: the same with 8 bits and the range of float32.
"""

from __future__ import annotations

from typing import Any

from minitorch_dist import not_offered
from minitorch_dist.distributed.grad_bucket import GradBucket
from minitorch_dist.distributed.torch_api.process_group import ProcessGroup, or_default
from minitorch_dist.distributed.torch_api.tensor_collectives import all_reduce
from minitorch_dist.futures import Future
from minitorch_dist.tensors import dtypes

__all__ = ["allreduce_hook", "bf16_compress_hook", "fp16_compress_hook"]


def averaged(process_group: ProcessGroup | None, tensor: Any) -> Future[Any]:
    """A future of the tensor, divided and added up over the group."""
    group = or_default(process_group)
    tensor.div_(group.size())
    if group.size() == 1:
        alone = Future[Any](condition=group.world.clock.condition)
        alone.set_result(tensor)
        return alone
    work = all_reduce(tensor, group=group, async_op=True)
    assert work is not None
    return work.get_future().then(lambda future: future.value()[0])


def allreduce_hook(process_group: ProcessGroup | None, bucket: GradBucket) -> Future[Any]:
    """Averages the bucket, as DDP does without a hook."""
    return averaged(process_group, bucket.buffer())


def fp16_compress_hook(process_group: ProcessGroup | None, bucket: GradBucket) -> Future[Any]:
    return _compressed(process_group, bucket, dtypes.float16)


def bf16_compress_hook(process_group: ProcessGroup | None, bucket: GradBucket) -> Future[Any]:
    return _compressed(process_group, bucket, dtypes.bfloat16)


def _compressed(group: ProcessGroup | None, bucket: GradBucket, dtype: dtypes.dtype) -> Future[Any]:
    buffer: Any = bucket.buffer()
    small = buffer.to(dtype)
    return averaged(group, small).then(lambda future: buffer.copy_(future.value()))


not_offered.guard(globals())
