"""A rank that runs the program alone: what it begins is noted in its trace, and nothing is sent.

    all_reduce(x)        ──► CollectiveBegun(…)     x keeps its shape, and nothing else is in it
    work.wait()          ──► WorkAwaited(number)
    isend, recv          ──► NotedMessage(…)
    a matrix product     ──► DeviceOperation(name, picoseconds)

Communication takes no time here, and no thread but the rank's own runs. That is right for a program whose course
does not depend on times. Refused is all that depends on them: a receive from anybody, `is_completed()` of a
receive, a callback that computes, sleeping, the store.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from types import FrameType
from typing import Any, NoReturn

import numpy as np

from minitorch_dist.distributed import groups
from minitorch_dist.distributed.groups import ProcessGroup
from minitorch_dist.distributed.mail.receives import PostponedCopy
from minitorch_dist.distributed.mail.wire import Fingerprint
from minitorch_dist.distributed.point_to_point import PreparedReceive, PreparedSend
from minitorch_dist.distributed.prepared import How, PreparedCall
from minitorch_dist.distributed.schedules.schedule import Schedule
from minitorch_dist.distributed.work import Work
from minitorch_dist.distributed.world import World
from minitorch_dist.sim.device import Device
from minitorch_dist.sim.device_time import ComputeStream, DeviceTime
from minitorch_dist.sim.host_copies import HostCopies
from minitorch_dist.tensors import ledger, pools
from minitorch_dist.tensors.core.base import Array
from minitorch_dist.tensors.shape_arrays import answers
from minitorch_dist.tensors.shape_arrays.array import has_numbers
from mtd.planning.fold import acts
from mtd.planning.fold.noted_work import NotedWork
from mtd.planning.fold.peers import PeerContents
from mtd.planning.fold.rank_number import RankNumber, Table
from mtd.planning.fold.recording_engine import CutCall, RecordingEngine
from mtd.planning.fold.roles import RoleTable, refuse, uniform
from mtd.timelines import owners
from transports.virtual.clock import VirtualClock

OWN_ARRAYS = ("reduce", "gather", "scatter")  # whose root has other arrays than the others


class NotingStream(ComputeStream):
    """The device of a recorded rank: its operations are noted and take no time."""

    trace: OperationTrace

    def __init__(self, device: Device, rank: int, clock: VirtualClock) -> None:
        super().__init__(device, rank, clock)
        self.copies = NotedCopies(self)

    def update_on_host(self, nbytes: int) -> None:
        self.trace.acts.append(acts.Computed(self.host_time(nbytes)))

    def compute(self, name: str, picos: int, modules: tuple[str, ...] = ()) -> None:
        if picos > 0:
            self.trace.operations.append(acts.DeviceOperation(name, picos, modules))
            self.trace.note_memory()


class NotedCopies(HostCopies):
    """The copies of a recorded rank."""

    def __init__(self, stream: NotingStream) -> None:
        super().__init__(stream.clock)
        self.stream = stream

    def begin(self, owner: int, picos: int, to_host: bool) -> None:
        self.stream.trace.acts.append(acts.HostCopyBegun(owner, picos, to_host))

    def wait(self, owner: int | None) -> None:
        self.stream.trace.acts.append(acts.HostCopyAwaited(owner))


class ToldBesides:
    """For timelines: for whom each collective is, and the memory by category before each act and after each operation
    of the device."""

    def __init__(self, devices: DeviceTime | None) -> None:
        self.devices = devices
        self.owners: dict[int, str] = {}  # by act
        self.before: dict[int, dict[str, int]] = {}  # by act
        self.after: list[dict[str, int]] = []  # of the operations, in their order

    def append(self, act: int, owner: str | None) -> None:
        if owner is not None:
            self.owners[act] = owner
        if pools.pool():
            self.before[act] = _held()


class OperationTrace:
    """All that one rank began."""

    def __init__(
        self,
        rank: int,
        role_table: RoleTable,
        peers: PeerContents,
        watches: bool,
        is_again: bool,
        told: ToldBesides | None = None,
        is_proved: bool = False,
    ) -> None:
        self.is_proved = is_proved  # the roles, by an earlier run
        self.rank, self.role_table, self.peers = rank, role_table, peers
        self.watches = watches  # whether the program's comparisons of ranks split its role
        self.is_again = is_again  # whether it runs for the second time
        self.has_watched = self.is_over = False
        self.operations: list[acts.DeviceOperation] = []  # since the last other act
        self.acts = ActList(self.operations, told)
        self.works = 0
        self.busy = 0  # picoseconds of `Computed`
        self.calls: list[int] = []  # of each group, how many collectives were begun
        self.groups: list[ProcessGroup] = []
        self._made = role_table.groups
        self._kinds: dict[Any, acts.CallKind] = {}
        self.stream: NotingStream | None = None
        self.told = told
        self.result: Any = None
        self.peak: int | None = None  # bytes,
        self.peak_held: dict[str, int] = {}  # and by category

    def enter(self, world: World) -> None:
        """This rank has its world."""
        if self.groups:
            refuse("the program makes a second world")
        world.engine = RecordingEngine()
        self._count((world.default_group.ranks,))
        self._take(world.default_group)
        world.trace = self

    # -------------------------------------------------------------------------- who am I

    def agree(self, answers: Array, own: bool) -> None:
        if not self.is_over:
            self.role_table.split(self.rank, answers, own, self.watches)

    def number(self, value: int, table: Table) -> int:
        if not self.watches:
            return value
        self.has_watched = True
        return RankNumber(value, table, self.agree)

    def asked(self, group: ProcessGroup, value: int) -> int:
        """The caller's rank in a group, for a program; plain numbers for the library itself."""
        if _asks_for_itself():
            return value
        return self.number(value, self.tables[self.index(group)])

    def coordinates(self, values: tuple[int, ...], axes: Sequence[Table]) -> tuple[int, ...]:
        """The same of a mesh. `axes`: along each, the coordinate of each rank of the world."""
        if _asks_for_itself():
            return values
        return tuple(self.number(value, axis) for value, axis in zip(values, axes, strict=True))

    def named(self, group: ProcessGroup, global_rank: int | None, group_rank: int | None) -> int:
        """The group rank of a peer or a root, which may depend on the rank that asks."""
        if isinstance(group_rank, RankNumber):
            return self.plain(group_rank)
        if isinstance(global_rank, RankNumber) and group_rank is None:
            return self._in_group(group, global_rank)
        return groups._canonical_rank(group, global_rank, group_rank)

    def _in_group(self, group: ProcessGroup, rank: RankNumber) -> int:
        """The group rank of a rank of the world that depends on the rank that asks."""
        index, role = self.index(group), int(self.role_table.of[self.rank])
        members = self.role_table.members[role]
        table = np.full(len(self.role_table.of), -1, np.int64)
        for member in members.tolist():
            ranks = self.parts[index][self.part_of[index][member]]
            wanted = int(rank.table[member])
            if wanted not in ranks:
                refuse(f"rank {member} names rank {wanted}, which is not in its group")
            table[member] = ranks.index(wanted)
        return self.plain(self.number(int(table[self.rank]), table))

    def plain(self, number: int) -> int:
        """A number that is the same on all ranks of the role is no longer watched."""
        if isinstance(number, RankNumber):
            members = self.role_table.members[int(self.role_table.of[self.rank])]
            if uniform(number.table[members]):
                return int(number)
        return number

    # ----------------------------------------------------------------------------- groups

    def index(self, group: ProcessGroup) -> int:
        for number, known in enumerate(self.groups):
            if known is group:
                return number
        refuse(f"the program uses {group!r}, which was made in a way that is not known")

    def made(
        self,
        parts: Sequence[tuple[str, tuple[int, ...]]],
        own: Sequence[Any],
        timeout: float | None,
        backend: str,
        description: str,
    ) -> None:
        """New groups, those of others too; `own` are this rank's."""
        self.acts.append(acts.GroupsMade(tuple(parts), timeout, backend, description))
        self._count([ranks for _, ranks in parts])
        for group in own:
            self._take(group)

    def _count(self, parts: Sequence[tuple[int, ...]]) -> None:
        self._made = self._made.more(tuple(parts))
        self.counts, self.tables = self._made.counts, self._made.tables
        self.parts, self.part_of = self._made.parts, self._made.part_of

    def _take(self, group: ProcessGroup) -> None:
        own = group.rank()
        setattr(group, "rank", lambda: self.asked(group, own))  # noqa: B010 - an answer of its own
        self.groups.append(group)
        self.calls.append(0)

    # ------------------------------------------------------------------------ collectives

    def collective(
        self,
        call: PreparedCall,
        arrays: Mapping[Any, Any],
        own: PostponedCopy | None,
        how: How,
        first: Callable[[], None] | None,
        last: Callable[[], None] | None,
    ) -> Work | None:
        call.group.demand_open()
        kind = self._kind(call, arrays)
        self.calls[kind.group] += 1
        work = self._next_work() if how.asynchronous else None
        self.acts.append(acts.CollectiveBegun(kind, how.timeout, work))
        if first is not None:
            first()
        if own is not None:
            own.into[...] = own.of
        if any(has_numbers(array) and array.size for array in arrays.values()):
            seat = self.rank, call.rank, self.calls[kind.group]
            self.peers.exchange(seat, call, kind, arrays)
        if last is not None:
            last()
        if how.written is not None:
            how.written()
        if work is None:
            return None
        return NotedWork(call.group.world, how.output, self.acts, work, "a collective")

    def _kind(self, call: PreparedCall, arrays: Mapping[Any, Any]) -> acts.CallKind:
        index = self.index(call.group)
        bound = call.execute
        assert isinstance(bound, CutCall)
        collective = call.schedule.collective
        if call.root is not None and collective in OWN_ARRAYS:
            self.agree(self.tables[index] == call.root, call.rank == call.root)
        if collective == "all_to_all" and len(set(bound.vector.sizes)) > 1:
            self.alone("an all_to_all has parts of several sizes")
        shapes = tuple((name, array.shape, array.dtype) for name, array in arrays.items())
        said = call.fingerprint._replace(root=-1)
        key = index, call.schedule, said, call.root, call.nbytes, bound.vector, shapes
        kind = self._kinds.get(key)
        if kind is None:
            named = [name for name in arrays if name == ("source", call.rank)]
            is_own = len([name for name in arrays if name != "work"]) == len(named) == 1
            own = call.rank if is_own or bound.vector.results else None
            likes = {name: answers.like(array) for name, array in arrays.items()}
            kind = acts.CallKind(index, call.schedule, said, call.root, call.nbytes, bound.vector, likes, own)
            self._kinds[key] = kind
        return kind

    def alone(self, what: str) -> None:
        """Something that only a rank with a role of its own may do."""
        if len(self.role_table.members[int(self.role_table.of[self.rank])]) > 1:
            refuse(what)

    def objects(
        self, group: ProcessGroup, name: str, schedule: Schedule, chunks: Mapping[int, bytes], root: int
    ) -> dict[int, bytes | memoryview]:
        """A collective of objects, which do travel between representatives."""
        index, own = self.index(group), int(self.tables[self.index(group)][self.rank])
        if root >= 0:
            self.agree(self.tables[index] == root, own == root)
        self.calls[index] += 1
        lengths = {number: len(chunk) for number, chunk in chunks.items()}
        self.acts.append(acts.ObjectsExchanged(index, name, schedule, root, lengths, own))
        return self.peers.objects((self.rank, own, self.calls[index]), index, group, name, chunks, root)

    # ---------------------------------------------------------------------------- messages

    def _next_work(self) -> int:
        self.works += 1
        return self.works - 1

    def send(
        self, call: PreparedSend, said: Fingerprint, array: Array, output: Any = None, beside: bool = False
    ) -> Work | None:
        group = call.group
        work = self._next_work() if beside else None
        message = self._message(True, group, call.dst, call.tag, said, array, work)
        if has_numbers(array) and not self.is_again:
            self.peers.send(self.rank, message, group, array.tobytes())
        return None if work is None else NotedWork(group.world, output, self.acts, work, "")

    def receive(
        self,
        call: PreparedReceive,
        said: Fingerprint,
        array: Array,
        output: Any = None,
        arrived: Callable[[], None] | None = None,
        beside: bool = False,
    ) -> Work | None:
        if call.src is None:
            refuse("the program receives from anybody")
        if array is None:
            refuse("the program receives a message of any size")
        group = call.group
        work = self._next_work() if beside else None
        message = self._message(False, group, call.src, call.tag, said, array, work)
        if has_numbers(array):
            array.reshape(-1).view(np.uint8)[:] = np.frombuffer(self.peers.receive(self.rank, message, group), np.uint8)
        if arrived is not None:
            arrived()
        return None if work is None else NotedWork(group.world, output, self.acts, work, "a receive")

    def _message(
        self, is_send: bool, group: ProcessGroup, peer: int, tag: int, said: Fingerprint, array: Array, work: int | None
    ) -> acts.NotedMessage:
        peers = peer.table if isinstance(peer, RankNumber) else None
        here, like = self.index(group), answers.like(array)
        message = acts.NotedMessage(is_send, here, int(peer), peers, int(tag), said.operation, like, work)
        self.acts.append(message)
        return message

    def note_memory(self) -> None:
        """After an operation of the device."""
        if self.told is not None and pools.pool():
            self.told.after.append(_held())

    def marks(self, name: str) -> None:
        self.acts.append(acts.InstantMarked(name))

    def refuse(self, what: str) -> NoReturn:
        refuse(what)

    def asks_time(self, frame: FrameType) -> None:
        """Only the library and Python's own may ask, who let nothing depend on it."""
        module = str(frame.f_globals.get("__name__", "")).partition(".")[0]
        if module not in {"minitorch_dist", "mtd"} and module not in sys.stdlib_module_names:
            refuse("the program asks for the time (sim.mark notes an instant)")

    def computes(self, kind: str, rank: int, picos: int) -> None:
        """`sim.compute` without a device."""
        if kind == "compute" and picos > 0:
            self.busy += picos
            self.acts.append(acts.Computed(picos))

    def __repr__(self) -> str:
        return f"<OperationTrace of rank {self.rank}, {len(self.acts)} acts>"


class ActList(list[acts.TracedAct]):
    """The acts of a trace. Operations of the device that come before an act are one act of their own."""

    def __init__(self, operations: list[acts.DeviceOperation], told: ToldBesides | None) -> None:
        super().__init__()
        self._operations, self._told = operations, told

    def append(self, act: acts.TracedAct) -> None:
        self.close()
        if self._told is not None:
            is_call = isinstance(act, acts.CollectiveBegun)
            owner = owners.of_call(self._told.devices) if is_call else None
            self._told.append(len(self), owner)
        super().append(act)

    def close(self) -> None:
        if self._operations:
            super().append(acts.DeviceComputing(tuple(self._operations)))
            self._operations.clear()


def _held() -> dict[str, int]:
    return ledger.of("cuda").snapshot().by_category


def _asks_for_itself() -> bool:
    """Whether the question for a rank comes from the library, and not from the program."""
    name = str(sys._getframe(3).f_globals.get("__name__", ""))
    return name.startswith(("minitorch_dist.", "mtd."))
