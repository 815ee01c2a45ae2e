"""The work of DDP on a rank that has run out of inputs: the collectives of an iteration, with zeros.

forward      how many still train · whose buffers · the buffers · do they synchronise?
backward     every bucket, as zeros
at the end   the model of the (largest) rank that trained longest, to all
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol

from minitorch_dist.distributed.algorithms.join import JoinHook
from minitorch_dist.distributed.ddp import agreement, without_backward
from minitorch_dist.distributed.ddp.advice import advising
from minitorch_dist.distributed.ddp.reducer import Reducer
from minitorch_dist.distributed.reduce_op import ReduceOp
from minitorch_dist.distributed.torch_api.process_group import ProcessGroup
from minitorch_dist.distributed.torch_api.tensor_collectives import all_reduce
from minitorch_dist.distributed.work import Work
from minitorch_dist.tensors import devices
from minitorch_dist.tensors.ops.making import creation
from minitorch_dist.tensors.tensor import Tensor


class JoinableModel(Protocol):
    """The part of a DistributedDataParallel that is needed here."""

    process_group: ProcessGroup
    device: devices.device
    reducer: Reducer
    forward_sync_buffers: bool
    require_forward_param_sync: bool
    _divides_by_initial: bool

    def will_sync_module_buffers(self) -> bool: ...
    def _take_buffers(self, source: int) -> None: ...
    def _state(self, with_buffers: bool = True) -> list[Any]: ...


class DDPJoinHook(JoinHook):
    def __init__(self, ddp: JoinableModel) -> None:
        self.ddp = ddp
        self._own: list[Any] | None = (
            None  # the gradients as the last backward of this rank left them
        )

    def main_hook(self) -> None:
        ddp = self.ddp
        if self._own is None:
            grads = [p.grad for p in ddp.reducer.parameters]
            self._own = [None if grad is None else grad.array.copy() for grad in grads]
        if ddp.will_sync_module_buffers():
            ddp._take_buffers(common_rank(ddp, -1))
        synchronises = says_whether_it_syncs(ddp, False)
        ddp.require_forward_param_sync = synchronises
        if synchronises:
            without_backward.shadow(ddp.reducer)

    def post_hook(self, is_last_joiner: bool) -> None:
        ddp = self.ddp
        source = common_rank(ddp, ddp.process_group.rank() if is_last_joiner else -1)
        agreement.broadcast_from(ddp.process_group, ddp._state(ddp.forward_sync_buffers), source)
        self._put_back()

    def _put_back(self) -> None:
        """The others' averages, which steps meanwhile may have needed, are no gradients of this rank: its next
        backward would add to them."""
        for p, own in zip(self.ddp.reducer.parameters, self._own or (), strict=False):
            if own is None:
                p.grad = None
            elif p.grad is not None:
                p.grad.array[...] = own


def common_rank(ddp: JoinableModel, mine: int) -> int:
    """The largest rank that any rank gives; those that do not stand for themselves give -1."""
    found: Tensor = creation.tensor([mine], device=ddp.device)
    all_reduce(found, op=ReduceOp.MAX, group=ddp.process_group)
    return int(found.array[0])


def says_whether_it_syncs(ddp: JoinableModel, mine: bool) -> bool:
    """Whether the ranks that train will synchronise their gradients in this iteration."""
    found: Tensor = creation.full((1,), float(mine), device=ddp.device)
    all_reduce(found, group=ddp.process_group)
    return bool(found.array[0] > 0)


def divisor_of(ddp: JoinableModel, work: Work) -> Callable[[], int]:
    """Asks by what the gradients are divided. `work` counts the ranks that still train."""

    def ask() -> int:
        with advising(ddp.reducer.iteration):
            (count,) = work.result()
        return ddp.process_group.size() if ddp._divides_by_initial else int(count.array[0])

    return ask
