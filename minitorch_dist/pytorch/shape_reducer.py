"""DistributedDataParallel without numbers. Torch's reducer is C++ and reads the memory of parameters, which have none; this one does the
same operations and collectives, in the same order, from Python.

    first step     one bucket of all gradients
    later ones     buckets in the order in which gradients came: a first one of 1 MB, then of `bucket_cap_mb`
    a gradient     is divided and copied into its bucket; a full bucket is reduced beside the rest of the backward
    at the end     the backward waits for all buckets, and copies them back

Some small messages of the first step are left out, by which torch checks that ranks agree on shapes and on an order of buckets.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from functools import partial
from typing import Any

import torch
import torch.distributed as torch_dist
from torch.distributed import utils
from torch.nn.parallel import distributed as ddp

from minitorch_dist.pytorch import storages
from minitorch_dist.pytorch.replacing import replaced, replaced_everywhere


class GradientBucket:
    """Gradients that are reduced together."""

    def __init__(self, numbers: Sequence[int], parameters: Sequence[torch.Tensor]) -> None:
        self.numbers, self.missing = list(numbers), set(numbers)
        like = parameters[self.numbers[0]]
        self.whole = torch.empty(
            sum(parameters[number].numel() for number in numbers), dtype=like.dtype, device=like.device
        )
        sizes = [parameters[number].numel() for number in numbers]
        parts = zip(numbers, self.whole.split(sizes), strict=True)
        self.views = {number: _laid_out_as(parameters[number], part) for number, part in parts}
        self.work: Any = None
        storages.tag([self.whole], "communication")


def _laid_out_as(parameter: torch.Tensor, part: torch.Tensor) -> torch.Tensor:
    """The part of a bucket with the shape of its parameter, and with its strides if it is a convolution's in channels_last."""
    if parameter.dim() == 4 and parameter.is_contiguous(memory_format=torch.channels_last):
        return part.as_strided(parameter.shape, parameter.stride(), part.storage_offset())
    return part.view(parameter.shape)


class ShapeReducer:
    """Takes the place of `torch.distributed.Reducer`."""

    def __init__(
        self,
        parameters: Sequence[torch.Tensor],
        bucket_indices: Sequence[Sequence[int]],
        limits: Any,
        group: Any,
        expect_sparse: Any = (),
        cap: int = 25 << 20,
        find_unused: bool = False,
        as_views: bool = False,
        names: Any = None,
        first_cap: int = 1 << 20,
        *more: Any,
    ) -> None:
        self.parameters, self.group, self.as_views = list(parameters), group, as_views
        self.caps = (more[2] if len(more) > 2 else None) or [first_cap, cap]  # torch 2.13 gives both
        self.buckets = [GradientBucket(numbers, self.parameters) for numbers in bucket_indices]
        self.order: list[int] = []  # of gradients, in the first backward
        self.is_rebuilt = self.is_expecting = False
        for number, parameter in enumerate(self.parameters):
            parameter.register_post_accumulate_grad_hook(partial(self._came, number))

    # ------------------------------------------------------------------------- what DDP calls

    def prepare_for_backward(self, outputs: Any) -> None:
        self.is_expecting = True
        for bucket in self.buckets:
            bucket.missing, bucket.work = set(bucket.numbers), None

    def _rebuild_buckets(self) -> bool:
        if self.is_rebuilt or not self.order:
            return False
        self.is_rebuilt = True
        rest = [number for number in range(len(self.parameters)) if number not in set(self.order)]
        numbers = [*self.order, *rest]
        found, _ = torch_dist._compute_bucket_assignment_by_size(
            [self.parameters[number] for number in numbers], self.caps, [False] * len(numbers), numbers
        )
        self.buckets = [GradientBucket(each, self.parameters) for each in found]
        return True

    def _refuse(self, *_: Any, **__: Any) -> None:
        raise NotImplementedError(
            "hooks of DistributedDataParallel's communication need numbers: leave shapes out, or the hook"
        )

    def _nothing(self, *_: Any) -> None:
        """It has no meaning without numbers."""

    set_logger = prepare_for_forward = _set_static_graph = _set_forward_pass_work_handle = _nothing
    _remove_autograd_hooks = _check_reducer_finalized = _set_ddp_runtime_logging_sample_rate = _nothing

    # ------------------------------------------------------------------------ within a backward

    def _came(self, number: int, parameter: torch.Tensor) -> None:
        if not self.is_expecting:  # within no_sync()
            return
        if all(len(bucket.missing) == len(bucket.numbers) for bucket in self.buckets):
            torch.autograd.Variable._execution_engine.queue_callback(self._finish)
        if not self.is_rebuilt:
            self.order.append(number)
        bucket = next((each for each in self.buckets if number in each.missing), None)
        if bucket is None:
            raise RuntimeError(
                f"Expected to mark a variable ready only once: parameter {number} of {len(self.parameters)} got a second "
                "gradient in one backward. Is it used in two parts that are computed again (checkpoint with "
                "use_reentrant=True)? Say use_reentrant=False"
            )
        bucket.missing.discard(number)
        assert parameter.grad is not None
        with torch.no_grad():
            torch.div(parameter.grad, self.group.size(), out=bucket.views[number])
        self._begin_ready()

    def _begin_ready(self) -> None:
        """Buckets begin in their order."""
        for bucket in self.buckets:
            if bucket.missing:
                return
            if bucket.work is None:
                bucket.work = torch_dist.all_reduce(bucket.whole, group=self.group, async_op=True)

    def _finish(self) -> None:
        self.is_expecting = False
        for bucket in self.buckets:  # what this backward did not come to
            bucket.missing.clear()
        self._begin_ready()
        with torch.no_grad():
            for bucket in self.buckets:
                bucket.work.wait()
                for number, view in bucket.views.items():
                    self._give(self.parameters[number], view)

    def _give(self, parameter: torch.Tensor, view: torch.Tensor) -> None:
        if parameter.grad is None:
            return
        if self.as_views:
            parameter.grad = view
        else:
            parameter.grad.copy_(view)

    def __repr__(self) -> str:
        return f"<ShapeReducer of {len(self.parameters)} parameters in {len(self.buckets)} buckets>"


class SilentLogger:
    """Takes the place of `torch.distributed.Logger`."""

    def __init__(self, reducer: Any) -> None:
        self.reducer = reducer

    def __getattr__(self, name: str) -> Any:
        return lambda *args, **kwargs: None


def _broadcast_coalesced(group: Any, tensors: Sequence[torch.Tensor], size: int, src: int = 0) -> None:
    """The tensors of rank `src`, as many at once as fit into `size` bytes."""
    tensors = list(tensors)
    found, _ = torch_dist._compute_bucket_assignment_by_size(tensors, [size]) if tensors else ([], [])
    for numbers in found:
        parts = [tensors[number] for number in numbers]
        whole = torch.cat([part.reshape(-1) for part in parts])
        torch_dist.broadcast(whole, group=group, group_src=src)
        for part, own in zip(parts, whole.split([part.numel() for part in parts]), strict=True):
            part.copy_(own.view(part.shape))


@contextmanager
def around_run() -> Iterator[None]:
    verify = utils._verify_param_shape_across_processes
    with ExitStack() as around:
        around.enter_context(replaced(torch_dist, "Reducer", ShapeReducer))
        around.enter_context(replaced(torch_dist, "Logger", SilentLogger))
        around.enter_context(replaced(torch_dist, "_broadcast_coalesced", _broadcast_coalesced))
        around.enter_context(replaced(torch_dist, "_register_comm_hook", ShapeReducer._refuse))
        around.enter_context(replaced(torch_dist, "_register_builtin_comm_hook", ShapeReducer._refuse))
        around.enter_context(replaced_everywhere(verify, lambda *args, **kwargs: None))
        assert ddp.dist is torch_dist  # DDP finds them there
        yield
