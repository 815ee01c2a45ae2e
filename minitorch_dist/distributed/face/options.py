"""What torch's process groups take beside tensors: one small class per collective."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from minitorch_dist.distributed.reduce_op import ReduceOp
from minitorch_dist.distributed.rendezvous import TIMEOUT


@dataclass
class Options:  # its names are torch's
    timeout: timedelta = TIMEOUT
    asyncOp: bool = True


@dataclass
class _Reducing(Options):
    reduceOp: Any = ReduceOp.SUM


@dataclass
class _Rooted(Options):
    rootRank: int = 0


class AllreduceOptions(_Reducing):
    pass


class AllreduceCoalescedOptions(_Reducing):
    pass


class ReduceScatterOptions(_Reducing):
    pass


@dataclass
class ReduceOptions(_Reducing):
    rootRank: int = 0
    rootTensor: int = 0


@dataclass
class BroadcastOptions(_Rooted):
    rootTensor: int = 0


class GatherOptions(_Rooted):
    pass


class ScatterOptions(_Rooted):
    pass


class AllgatherOptions(Options):
    pass


class AllToAllOptions(Options):
    pass


@dataclass
class BarrierOptions(Options):
    device_ids: Any = None
