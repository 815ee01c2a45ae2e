"""The parts of a trace: all that a representative began, in its order.

A group is named by its number among the groups that a rank is in, in the order in which they were made: 0 is the
whole world. So the name means the same on every rank of a role. Arrays have shapes and no numbers.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple, TypeAlias

from minitorch_dist.distributed.execution.chunks import Vector
from minitorch_dist.distributed.mail.wire import Fingerprint
from minitorch_dist.distributed.schedules.schedule import Schedule
from mtd.planning.fold.rank_number import Table
from mtd.planning.fold.replayed_device import OperationsTogether

Names: TypeAlias = tuple[str, ...]


class DeviceOperation(NamedTuple):
    """The device was busy with one operation, for so many picoseconds at full speed."""

    name: str
    picos: int
    modules: Names


class TracedAct:
    """One thing that a representative began."""


@dataclass(frozen=True)
class DeviceComputing(TracedAct):
    """Operations of the device, one after the other."""

    operations: tuple[DeviceOperation, ...]

    @cached_property
    def together(self) -> OperationsTogether:
        """The same for all ranks that do this at full speed."""
        return OperationsTogether(self.operations)

    @property
    def picos(self) -> int:
        return self.together.picos


@dataclass(frozen=True)
class Computed(TracedAct):
    """`sim.compute` without a device, or the host's processors: picoseconds at full speed."""

    picos: int


@dataclass(frozen=True)
class HostCopyBegun(TracedAct):
    """Bytes of an owner, which has a number, begin to go to the host's memory or to come back: so many picoseconds by themselves."""

    owner: int
    picos: int
    to_host: bool


@dataclass(frozen=True)
class HostCopyAwaited(TracedAct):
    """The copies of an owner, or all that go to the host."""

    owner: int | None


@dataclass(frozen=True)
class InstantMarked(TracedAct):
    """`sim.mark`."""

    name: str


@dataclass(frozen=True, eq=False)
class CallKind:
    """All calls of one kind of a collective. `own`: the group rank of the representative, if arrays are named by it."""

    group: int
    schedule: Schedule
    said: Fingerprint
    root: int | None
    nbytes: int
    vector: Vector
    arrays: Mapping[Any, Any]
    own: int | None


@dataclass(frozen=True)
class CollectiveBegun(TracedAct):
    """One call; with `work` the number of the Work that it returned."""

    kind: CallKind
    timeout: float | None
    work: int | None


@dataclass(frozen=True)
class WorkAwaited(TracedAct):
    """The caller waited for a Work."""

    work: int


@dataclass(frozen=True)
class NotedMessage(TracedAct):
    """A send, or a receive. `peer` is the group rank of the other end on the representative, `peers` on each rank of
    the world where that is known."""

    is_send: bool
    group: int
    peer: int
    peers: Table | None
    tag: int
    operation: str
    array: Any
    work: int | None


@dataclass(frozen=True)
class ObjectsExchanged(TracedAct):
    """A collective of objects (see `torch_api.object_collectives`): of each chunk that this rank had, the bytes."""

    group: int
    name: str
    schedule: Schedule
    root: int
    chunks: Mapping[int, int]
    own: int


@dataclass(frozen=True, eq=False)
class GroupsMade(TracedAct):
    """New groups: the name and the ranks of each."""

    parts: tuple[tuple[str, tuple[int, ...]], ...]
    timeout: float | None
    backend: str
    description: str
