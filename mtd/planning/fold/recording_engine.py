"""The engine of a recorded world: it chooses schedules as the simulation does, and carries nothing out."""

from __future__ import annotations

from typing import Any

from minitorch_dist.distributed.execution.chunks import Vector
from minitorch_dist.distributed.prepared import Execute, MakeVector, PreparedCall, TransportEngine


class CutCall:
    """Stands for a call's engine in a recorded world: it says how the arrays are cut."""

    def __init__(self, vector: Vector) -> None:
        self.vector = vector

    def __call__(self, operation: Any, arrays: Any, own: Any) -> None:
        raise AssertionError("a recorded call is not carried out")


class RecordingEngine(TransportEngine):
    """It chooses schedules as the simulation does."""

    is_shared = True

    def bind(self, call: PreparedCall, vector: MakeVector) -> Execute:
        return CutCall(vector(call.schedule))
