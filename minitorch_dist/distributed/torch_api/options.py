"""The options of torch's process groups: one small class per collective."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from minitorch_dist.distributed.reduce_op import ReduceOp
from minitorch_dist.distributed.rendezvous import TIMEOUT


@dataclass
class CollectiveOptions:  # its names are torch's
    timeout: timedelta = TIMEOUT
    asyncOp: bool = True


@dataclass
class _Reducing(CollectiveOptions):
    reduceOp: Any = ReduceOp.SUM


@dataclass
class _Rooted(CollectiveOptions):
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


class AllgatherOptions(CollectiveOptions):
    pass


class AllToAllOptions(CollectiveOptions):
    pass


@dataclass
class BarrierOptions(CollectiveOptions):
    device_ids: Any = None
