"""What DDP does on a rank that has run out of inputs: the collectives of an iteration, with zeros.

forward      how many still train · whose buffers · the buffers · do they synchronise?
backward     every bucket, as zeros
at the end   the model of the (largest) rank that trained longest, to all
"""

from __future__ import annotations

from typing import Any, Protocol

from minitorch_dist.distributed.algorithms.join import JoinHook
from minitorch_dist.distributed.face.process_group import ProcessGroup
from minitorch_dist.distributed.face.tensor_collectives import all_reduce
from minitorch_dist.distributed.reduce_op import ReduceOp
from minitorch_dist.nn.parallel import agreement
from minitorch_dist.nn.parallel.reducer import Reducer
from minitorch_dist.tensors import devices
from minitorch_dist.tensors.ops.making import creation
from minitorch_dist.tensors.tensor import Tensor


class Trained(Protocol):
    """What is needed of a DistributedDataParallel."""

    process_group: ProcessGroup
    device: devices.device
    reducer: Reducer
    forward_sync_buffers: bool
    require_forward_param_sync: bool

    def will_sync_module_buffers(self) -> bool: ...
    def _take_buffers(self, source: int) -> None: ...
    def _state(self, with_buffers: bool = True) -> list[Any]: ...


class DDPJoinHook(JoinHook):
    def __init__(self, ddp: Trained) -> None:
        self.ddp = ddp

    def main_hook(self) -> None:
        ddp = self.ddp
        if ddp.will_sync_module_buffers():
            ddp._take_buffers(common_rank(ddp, -1))
        synchronises = says_whether_it_syncs(ddp, False)
        ddp.require_forward_param_sync = synchronises
        if synchronises:
            ddp.reducer.shadow()

    def post_hook(self, is_last_joiner: bool) -> None:
        ddp = self.ddp
        source = common_rank(ddp, ddp.process_group.rank() if is_last_joiner else -1)
        agreement.take_from(ddp.process_group, ddp._state(ddp.forward_sync_buffers), source)


def common_rank(ddp: Trained, mine: int) -> int:
    """The largest rank that any rank gives; those that do not stand for themselves give -1."""
    found: Tensor = creation.tensor([mine], device=ddp.device)
    all_reduce(found, op=ReduceOp.MAX, group=ddp.process_group)
    return int(found.array[0])


def says_whether_it_syncs(ddp: Trained, mine: bool) -> bool:
    """Whether the ranks that train will synchronise their gradients in this iteration."""
    found: Tensor = creation.full((1,), float(mine), device=ddp.device)
    all_reduce(found, group=ddp.process_group)
    return bool(found.array[0] > 0)
