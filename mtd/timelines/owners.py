"""For whom a rank communicates: an FSDP unit, a bucket of DDP, a stage, or the module that is being called.

Those who call a collective do not say so, and need not: only a run whose timelines are wanted looks at its callers.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable
from itertools import takewhile
from types import FrameType

from minitorch_dist.distributed.ddp.buckets import Bucket
from minitorch_dist.distributed.fsdp.gathering import Gathered
from minitorch_dist.distributed.pipelining.stage import PipelineStage
from minitorch_dist.sim.device_time import DeviceTime

FARTHEST = 40  # frames


def of_call(devices: DeviceTime | None) -> str:
    """In words, for the caller's collective; "" where nothing is known."""
    frame: FrameType | None = sys._getframe(2)
    for _ in range(FARTHEST):
        if frame is None:
            break
        names = frame.f_locals
        found = names.get("self")
        if isinstance(found, Gathered):
            return _unit(found, devices)
        if isinstance(found, PipelineStage):
            return f"stage {found.stage_index}"
        if isinstance(names.get("bucket"), Bucket):
            return f"bucket {names['bucket'].index}"
        if isinstance(found, DeviceTime) and "node" in names:  # around a node's gradients
            return _innermost(found.names.of(names["node"]))
        frame = frame.f_back
    return "" if devices is None else _innermost(devices.names.now())


def _innermost(modules: tuple[str, ...]) -> str:
    return modules[-1] if modules else ""


def _unit(unit: Gathered, devices: DeviceTime | None) -> str:
    """The modules of its parameters have this beginning of their names in common."""
    names = unit.names
    if devices is not None:
        known = (devices.names.known(shared[0].module) for shared in unit.places)
        whole_names = [f"{whole}.{shared[0].name}" for whole, shared in zip(known, unit.places, strict=True) if whole]
        names = whole_names or names
    return common(names) or "the outermost unit"


def common(names: Iterable[str]) -> str:
    """`Model.layers.3` of `Model.layers.3.up.weight` and `Model.layers.3.down.weight`."""
    parts = [name.strip(".").split(".")[:-1] for name in names]
    alike = takewhile(lambda column: len(set(column)) == 1, zip(*parts, strict=False))
    return ".".join(column[0] for column in alike)
