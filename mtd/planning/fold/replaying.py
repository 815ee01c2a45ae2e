"""A rank that does what the trace of its role says: the same calls, in the real clock and network.

Its arrays have no numbers, and all ranks of a role share them. Its groups are its own.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from typing import Any

from minitorch_dist.distributed import world
from minitorch_dist.distributed.groups import ProcessGroup
from minitorch_dist.distributed.mail.wire import Fingerprint
from minitorch_dist.distributed.point_to_point import PreparedReceive, PreparedSend
from minitorch_dist.distributed.prepared import Engine, How, PreparedCall
from minitorch_dist.distributed.torch_api import object_collectives
from minitorch_dist.distributed.work import Work
from minitorch_dist.sim import device_time, program_calls
from minitorch_dist.sim.host_copies import HostCopies
from minitorch_dist.sim.power import slowed
from mtd.planning.fold import acts
from mtd.planning.fold.replayed_device import ReplayedStream
from mtd.planning.fold.trace import OperationTrace, ToldBesides
from transports.virtual.clock import VirtualClock

Peer = Callable[[acts.NotedMessage, int], int]


class Replayer:
    """Replays one trace as one rank."""

    def __init__(self, trace: OperationTrace, peer: Peer) -> None:
        self.trace, self.peer = trace, peer
        here = world.current()
        self.world, self.rank = here, here.rank
        assert isinstance(here.clock, VirtualClock)
        self.clock = here.clock
        devices = device_time.of(here.clock)
        self.stream: ReplayedStream | None = None
        if devices is not None:
            self.stream = devices.streams[here.rank] = ReplayedStream(devices.streams[here.rank])
        self.engine: Engine = here.engine
        self.groups: list[ProcessGroup] = [here.default_group]
        self.works: dict[int, Work] = {}
        self._prepared: dict[int, tuple[PreparedCall, dict[Any, Any]]] = {}
        self._doing: dict[type, Callable[[Any], None]] = {
            acts.DeviceComputing: self.compute,
            acts.Computed: self.be_busy,
            acts.CollectiveBegun: self.collective,
            acts.HostCopyBegun: self.copy,
            acts.HostCopyAwaited: lambda act: self.copies.wait(act.owner),
            acts.InstantMarked: lambda act: program_calls.mark(act.name),
            acts.WorkAwaited: self.wait,
            acts.NotedMessage: self.message,
            acts.ObjectsExchanged: self.objects,
            acts.GroupsMade: self.make,
        }

    def replay(self) -> None:
        if self.trace.told is None:
            self.replay_acts()
        else:
            self._replay_told(self.trace.told)
        own = self.trace.stream
        if self.stream is not None and own is not None:
            self.stream.flops, self.stream.again = dict(own.flops), own.again

    def replay_acts(self) -> None:
        for act in self.trace.acts:
            self._doing[type(act)](act)

    def _replay_told(self, told: ToldBesides) -> None:
        """The same, and the recorder learns what only the representative knew."""
        recorder: Any = self.world.mailbox.recorder
        after, recorder.records_memory = iter(told.after), False
        for number, act in enumerate(self.trace.acts):
            recorder.owner = told.owners.get(number, "")
            begin = self.clock.now()
            if number in told.before:
                recorder.hold(begin, told.before[number])
            self._doing[type(act)](act)
            if isinstance(act, acts.DeviceComputing) and told.after:
                for operation in act.operations:
                    begin += operation.picos  # at full speed
                    recorder.hold(begin, next(after))

    # ------------------------------------------------------------------------------ acts

    def compute(self, act: acts.DeviceComputing) -> None:
        assert self.stream is not None
        self.stream.compute_all(act.operations, act.together)

    def be_busy(self, act: acts.Computed) -> None:
        picos = slowed(self.clock, act.picos)
        if picos:
            self.clock.pause(picos)

    @property
    def copies(self) -> HostCopies:
        assert self.stream is not None
        return self.stream.copies

    def copy(self, act: acts.HostCopyBegun) -> None:
        self.copies.begin(act.owner, act.picos, act.to_host)

    def collective(self, act: acts.CollectiveBegun) -> None:
        found = self._prepared.get(id(act.kind))
        if found is None:
            found = self._prepared[id(act.kind)] = self._prepare(act.kind)
        call, arrays = found
        if act.work is None:
            call.run(arrays, how=How(timeout=act.timeout))
            return
        work = call.run(arrays, how=How(asynchronous=True, timeout=act.timeout))
        assert work is not None
        self.works[act.work] = work

    def _prepare(self, kind: acts.CallKind) -> tuple[PreparedCall, dict[Any, Any]]:
        """The representative's call, as a call of this rank's group."""
        group = self.groups[kind.group]
        own, vector, arrays = group.rank(), kind.vector, dict(kind.arrays)
        if kind.own is not None:
            if vector.results:
                vector = vector._replace(results=(own,))
            if ("source", kind.own) in arrays and len(arrays) <= 2:
                arrays["source", own] = arrays.pop(("source", kind.own))
        root = -1 if kind.root is None else group.ranks[kind.root]
        said = kind.said._replace(root=root)
        call = PreparedCall(group, kind.schedule, said, kind.root, kind.nbytes, False)
        call.execute = self.engine.bind(call, lambda _: vector)
        return call, arrays

    def wait(self, act: acts.WorkAwaited) -> None:
        work = self.works.pop(act.work, None)
        if work is not None:
            work.wait()

    def message(self, act: acts.NotedMessage) -> None:
        group = self.groups[act.group]
        kind: Any = PreparedSend if act.is_send else PreparedReceive
        said = Fingerprint(act.operation, act.array.dtype, act.array.shape)
        call = kind(group, said, self.other_end(act), act.tag)
        if act.work is None:
            call.run(act.array)
        else:
            self.works[act.work] = call.begin(act.array)

    def other_end(self, act: acts.NotedMessage) -> int:
        """The group rank of a message's other end."""
        return self.peer(act, self.rank)

    def objects(self, act: acts.ObjectsExchanged) -> None:
        group: Any = self.groups[act.group]
        own = group.rank()
        chunks = {
            own if number == act.own and act.root < 0 else number: bytes(length)
            for number, length in act.chunks.items()
        }
        object_collectives.travel(group, act.name, act.schedule, chunks, act.root)

    def make(self, act: acts.GroupsMade) -> None:
        for number in own_parts(act).get(self.rank, ()):
            name, ranks = act.parts[number]
            self.groups.append(ProcessGroup(self.world, name, ranks, act.timeout, act.backend, act.description, None))

    def __repr__(self) -> str:
        return f"<Replayer of {self.trace!r} as rank {self.rank}>"


@cache
def own_parts(act: acts.GroupsMade) -> dict[int, Sequence[int]]:
    """Which of these groups each rank is in."""
    found: dict[int, list[int]] = {}
    for number, (_, ranks) in enumerate(act.parts):
        for rank in ranks:
            found.setdefault(rank, []).append(number)
    return found  # type: ignore[return-value]
