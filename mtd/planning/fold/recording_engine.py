"""The engine of a recorded world: it chooses schedules as the simulation does, and carries nothing out."""

from __future__ import annotations

from typing import Any

from minitorch_dist.distributed.execution.layout import Vector
from minitorch_dist.distributed.groups import Group
from minitorch_dist.distributed.mail.wire import Fingerprint
from minitorch_dist.distributed.prepared import (
    OVER_TRANSPORT,
    Algorithm,
    Execute,
    MakeVector,
    PreparedCall,
)
from minitorch_dist.distributed.schedules.schedule import Schedule


class CutCall:
    """Stands for a call's engine in a recorded world: it says how the arrays are cut."""

    def __init__(self, vector: Vector) -> None:
        self.vector = vector

    def __call__(self, operation: Any, arrays: Any, own: Any) -> None:
        raise AssertionError("a recorded call is not carried out")


class RecordingEngine:
    """It chooses schedules as the simulation does."""

    is_shared = True

    def choose(
        self, group: Group, collective: str, said: Fingerprint, nbytes: int, algorithm: Algorithm
    ) -> tuple[Schedule, Fingerprint]:
        return OVER_TRANSPORT.choose(group, collective, said, nbytes, algorithm)

    def bind(self, call: PreparedCall, vector: MakeVector) -> Execute:
        return CutCall(vector(call.schedule))
