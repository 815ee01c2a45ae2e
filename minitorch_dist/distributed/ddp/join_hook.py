"""The work of DDP on a rank that has run out of inputs: the collectives of an iteration, with zeros.

forward      how many still train · do they synchronise? · whose buffers · the buffers
backward     every bucket, as zeros
at the end   the model of the (largest) rank that trained longest, to all
"""

from __future__ import annotations

from typing import Any

from minitorch_dist.distributed.algorithms.join import Join, JoinHook
from minitorch_dist.distributed.ddp import agreement
from minitorch_dist.distributed.reduce_op import ReduceOp
from minitorch_dist.distributed.torch_api.tensor_collectives import all_reduce
from minitorch_dist.tensors.makers import creation
from minitorch_dist.tensors.tensor import Tensor


class DDPJoinHook(JoinHook):
    def __init__(self, ddp: Any) -> None:
        self.ddp = ddp
        self._own: list[Any] | None = None  # gradients, as the last backward of this rank left them

    def main_hook(self) -> None:
        ddp = self.ddp
        if self._own is None:
            grads = [p.grad for p in ddp.reducer.parameters]
            self._own = [None if grad is None else grad.array.copy() for grad in grads]
        synchronises = largest(ddp, 0) > 0
        source = largest(ddp, -1)
        if ddp.will_sync_module_buffers():
            ddp._take_buffers(source)
        ddp.require_forward_param_sync = synchronises
        if synchronises:
            ddp.reducer.shadow()

    def post_hook(self, is_last_joiner: bool) -> None:
        ddp = self.ddp
        source = largest(ddp, ddp.process_group.rank() if is_last_joiner else -1)
        buffers = list(ddp.module.buffers()) if ddp.forward_sync_buffers else []
        agreement.broadcast_from(ddp.process_group, [*ddp.module.parameters(), *buffers], source)
        self._put_back()

    def _put_back(self) -> None:
        """The others' averages, which steps meanwhile may have needed, are no gradients of this rank: its next
        backward would add to them."""
        for p, own in zip(self.ddp.reducer.parameters, self._own or (), strict=False):
            if own is None:
                p.grad = None
            elif p.grad is not None:
                p.grad.array[...] = own


def announce(ddp: Any) -> int:
    """Tell the ranks that are done what this forward will do. Returns the rank whose buffers all take."""
    Join.notify_join_context(ddp)
    largest(ddp, int(ddp.require_backward_grad_sync))
    return largest(ddp, ddp.process_group.rank())


def largest(ddp: Any, mine: int) -> int:
    """The largest number that any rank gives."""
    found: Tensor = creation.tensor([mine], device=ddp.device)
    all_reduce(found, op=ReduceOp.MAX, group=ddp.process_group)
    return int(found.array[0])
