"""Eight bits per value: between the smallest and the largest lie 255 steps.

    q = round(x / scale) + zero        scale = (max - min) / 255, for each tensor or each channel

Sums of such numbers need other scales, so nothing can be reduced on the way. Every rank gets all ranks' bytes
and adds them up itself. That is a quarter of the bytes of an all_gather, which pays off for
few ranks only.
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np

from minitorch_dist.distributed.algorithms.ddp_comm_hooks.deferred import DeferredFuture
from minitorch_dist.distributed.grad_bucket import GradBucket
from minitorch_dist.distributed.torch_api.process_group import ProcessGroup, or_default
from minitorch_dist.distributed.torch_api.tensor_collectives import all_gather_single
from minitorch_dist.futures import Future
from minitorch_dist.tensors.core import base
from minitorch_dist.tensors.core.base import Array
from minitorch_dist.tensors.tensor import Tensor

STEPS: Final = 255
BLOCK: Final = 512  # elements that have a scale of their own in the per-channel hook


def quantization_pertensor_hook(
    process_group: ProcessGroup | None, bucket: GradBucket
) -> Future[Any]:
    """One scale for the bucket."""
    return _quantized(process_group, bucket, bucket.buffer().array.size)


def quantization_perchannel_hook(
    process_group: ProcessGroup | None, bucket: GradBucket, bucket_size: int = BLOCK
) -> Future[Any]:
    """A scale for every `bucket_size` elements."""
    return _quantized(process_group, bucket, bucket_size)


def _quantized(process_group: ProcessGroup | None, bucket: GradBucket, block: int) -> Future[Any]:
    group, buffer = or_default(process_group), bucket.buffer()
    count = buffer.array.size
    rows = -(-count // max(1, block))
    padded = np.zeros(rows * block, np.float32)
    padded[:count] = buffer.array
    table = padded.reshape(rows, block)
    low, high = np.minimum(table.min(1), 0), np.maximum(table.max(1), 0)
    scale = np.maximum((high - low) / STEPS, np.finfo(np.float32).tiny)
    scales = np.stack([scale, low], axis=1).astype(np.float32)
    bits = np.rint((table - low[:, None]) / scale[:, None]).clip(0, STEPS).astype(np.uint8)
    all_scales = np.empty((group.size(), rows, 2), np.float32)
    all_bits = np.empty((group.size(), rows, block), np.uint8)
    works = [
        all_gather_single(_flat(out), _flat(mine), group=group, async_op=True)
        for out, mine in ((all_scales, scales), (all_bits, bits))
    ]

    def average() -> Any:
        for work in works:
            assert work is not None
            work.wait()
        values = all_bits * all_scales[:, :, :1] + all_scales[:, :, 1:]
        buffer.array[...] = values.mean(0).reshape(-1)[:count]
        return buffer

    return DeferredFuture(average)


def _flat(array: Array) -> Tensor:
    return base.new(Tensor, array.reshape(-1))
