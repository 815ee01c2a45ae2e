"""Parameters that stay out of the reducer's buckets and are reduced together, after all of these.

torch sends them as soon as the gradient of `param_to_hook_all_reduce` is there, and does not wait for
the result. Here they go last, which is later than that and the same on every rank, and backward
returns when their averages are in `.grad`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from minitorch_dist.distributed.ddp import buckets
from minitorch_dist.distributed.ddp.buckets import Bucket
from minitorch_dist.distributed.torch_api.process_group import ProcessGroup
from minitorch_dist.distributed.torch_api.tensor_collectives import all_reduce
from minitorch_dist.tensors.core import base
from minitorch_dist.tensors.core.base import TensorBase
from minitorch_dist.tensors.tensor import Tensor


class Delayed:
    def __init__(self, group: ProcessGroup, named: Sequence[tuple[str, TensorBase]]) -> None:
        self.group, self.names = group, [name for name, _ in named]
        self.bucket = Bucket(0, list(range(len(named))), [p for _, p in named])

    def send(self) -> Callable[[], None]:
        """Begin to average what is in `.grad` now; call the result to wait for it."""
        flat, size = self.bucket.flat, self.group.size()
        for p, view in zip(self.bucket.parameters, self.bucket.views, strict=True):
            grad = buckets.of(p)
            view.array[...] = 0 if grad is None else grad.array
        np.divide(flat.array, flat.array.dtype.type(size), out=flat.array)
        work = all_reduce(flat, group=self.group, async_op=size > 1)

        def late() -> None:
            if work is not None:
                work.wait()
            for p, view in zip(self.bucket.parameters, self.bucket.views, strict=True):
                grad = buckets.of(p)
                if grad is None:
                    buckets.keep(p, base.new(Tensor, view.array.copy(), p.storage.device))
                else:
                    grad.array[...] = view.array
                    grad.storage.version += 1

        return late

    def __repr__(self) -> str:
        return f"<Delayed reduction of {', '.join(self.names)}>"
