"""The collectives of a simulated world, message by message, each as its schedule is written (see `stepwise`).

`fast` does the same for all ranks together, and registers itself here. The environment's MINITORCH_DIST_SIMPLE=1
leaves it out: results and times are the same, and a run takes longer.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from minitorch_dist.distributed.execution import planner
from minitorch_dist.distributed.execution.operations import CollectiveOperation
from minitorch_dist.distributed.groups import ProcessGroup
from minitorch_dist.distributed.mail.receives import Array, PostponedCopy
from minitorch_dist.distributed.mail.wire import Fingerprint
from minitorch_dist.distributed.prepared import OVER_TRANSPORT, Algorithm, Execute, MakeVector, PreparedCall
from minitorch_dist.distributed.schedules.schedule import Schedule
from minitorch_dist.sim.stepwise import Stepwise
from transports.virtual.clock import VirtualClock
from transports.virtual.medium import Medium


class MessageEngine:
    """The collectives of all ranks of one simulated world. `adding` is the time to combine one byte. Groups of `many`
    and more ranks may carry out a collective together; None means that no group does."""

    is_shared = True

    def __init__(self, clock: VirtualClock, moving: Medium, adding: int, many: int | None) -> None:
        self.clock, self.medium, self.adding, self.many = clock, moving, adding, many
        network = moving.network
        limits = network.eager, network.window, network.rendezvous
        self.is_eager = limits == (None, None, None)

    def used(self) -> list[str]:
        """In which ways collectives were done together."""
        return []

    def choose(
        self, group: ProcessGroup, collective: str, said: Fingerprint, nbytes: int, algorithm: Algorithm
    ) -> tuple[Schedule, Fingerprint]:
        return OVER_TRANSPORT.choose(group, collective, said, nbytes, algorithm)

    def bind(self, call: PreparedCall, vector: MakeVector) -> Execute:
        return BoundCollective(self, call, vector).execute

    def carry_out(
        self, call: PreparedCall, vector: MakeVector, operation: CollectiveOperation, arrays: Mapping[Any, Array]
    ) -> None:
        """The part of one rank, which begins when it comes: nobody waits until all have come."""
        group, schedule = call.group, call.schedule
        cut = vector(schedule)
        steps = Stepwise(operation, schedule, call.root, cut, arrays, call.combine)
        is_plain = self.is_eager and not self.adding and not self.medium.is_disturbed
        if is_plain and not sees_messages(group):
            steps.run_by_arrivals(group.world.transport, self.clock)
        else:
            wanted = None
            if sees_messages(group):
                wanted = planner.plan(schedule, call.rank, call.size, call.root, cut)
            steps.run_by_itself(self.clock.pause, self.adding, wanted)

    def __repr__(self) -> str:
        return f"<{type(self).__name__} of {self.medium.network.topology}>"


class BoundCollective:
    """A collective of one rank, which is bound to the engine. It takes less room than a function within `bind`."""

    __slots__ = ("call", "engine", "vector")

    def __init__(self, engine: MessageEngine, call: PreparedCall, vector: MakeVector) -> None:
        self.engine, self.call, self.vector = engine, call, vector

    def execute(self, operation: CollectiveOperation, arrays: Mapping[Any, Array], own: PostponedCopy | None) -> None:
        if own is not None:
            own.into[...] = own.of
        if self.call.size > 1:
            self.engine.carry_out(self.call, self.vector, operation, arrays)

    def __repr__(self) -> str:
        return f"<BoundCollective of {self.call!r}>"


def sees_messages(group: ProcessGroup) -> bool:
    """Whether somebody writes down each message of this group."""
    recorder = group.world.mailbox.recorder
    return recorder is not None and recorder.sees_messages


_kinds: list[type[MessageEngine]] = [MessageEngine]


def register(kind: type[MessageEngine]) -> None:
    """Let runs from now on have this kind of engine."""
    _kinds.append(kind)


def of_run(clock: VirtualClock, moving: Medium, adding: int, many: int | None) -> MessageEngine:
    """The engine of a new run."""
    return _kinds[-1](clock, moving, adding, many)
