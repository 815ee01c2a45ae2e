"""How collectives are carried out in a simulated world: message by message, or all ranks together.

    a rank comes ──► the meeting of its group's n-th operation ──► it waits for the others
    the last one comes ──► times by `lockstep`, values by `vectorised_values` ──► each goes on at its own instant

Together can be done what nobody leaves before the last has come: all_reduce, all_gather, reduce_scatter,
all_to_all and barrier. It is done where ports belong to single ranks, sends are eager and nobody asks
for the messages themselves (a fault, a journal). Everything else goes message by message (`stepwise`).
Both give the same times and the same bits.

Clocks are moved together where nothing can come between: all messages have reached their ports before
the first rank leaves. Else what it sends next might meet them, and the messages pass the network one
by one after all, without their bytes (`payloadless`); so does what begins while such messages are under
way. Only where they are too many for that, clocks are moved together all the same, and what crosses is
counted.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from minitorch_dist.distributed.exceptions import DistMismatch
from minitorch_dist.distributed.execution.chunks import Vector
from minitorch_dist.distributed.execution.operations import CollectiveOperation
from minitorch_dist.distributed.groups import ProcessGroup
from minitorch_dist.distributed.mail.receives import Array
from minitorch_dist.distributed.mail.wire import Fingerprint
from minitorch_dist.distributed.prepared import OVER_TRANSPORT, Algorithm, MakeVector, PreparedCall, links_of
from minitorch_dist.distributed.schedules import arrivals, batched_overtaking, choice, domain
from minitorch_dist.distributed.schedules.links import Links
from minitorch_dist.distributed.schedules.schedule import Schedule
from minitorch_dist.sim import topology_links
from minitorch_dist.sim.fast import collective_results, lockstep, payloadless
from minitorch_dist.sim.fast.pending_collective import CollectiveWaiter, LightCollectives, PendingCollective
from minitorch_dist.sim.message_engine import MessageEngine, sees_messages
from minitorch_dist.tensors.shape_arrays.array import has_numbers
from transports.sim import SimTransport
from transports.virtual.clock import VirtualClock
from transports.virtual.medium import Medium

TOGETHER = ("all_reduce", "all_gather", "reduce_scatter", "all_to_all", "barrier")

Integers = NDArray[np.int64]


class GroupFacts(NamedTuple):
    """The facts about the links of a group, which are found out once."""

    links: Links  # as its choices see them
    wires: topology_links.DeclaredLinks | None  # exact; None where a port is shared
    nodes: Integers | None  # each rank's node, if they differ


class BatchedEngine(MessageEngine):
    """The collectives of all ranks of one simulated world. Groups of `many` and more ranks carry out
    a collective together; None means that no group does. `adding` is the time to combine one byte."""

    def __init__(self, clock: VirtualClock, moving: Medium, adding: int, many: int | None) -> None:
        super().__init__(clock, moving, adding, many)
        self.operations = dict.fromkeys(("lockstep", "closed", "one by one", "light"), 0)
        self._chosen: dict[Any, tuple[Schedule, Fingerprint]] = {}
        self._by_rank: set[Schedule] = set()  # that cannot say their steps for all ranks at once
        self._pending: dict[tuple[int, int], PendingCollective] = {}
        self._facts: dict[int, GroupFacts] = {}  # by group
        self._last: dict[int, int] = {}  # by rank: when the last message of a meeting reached it
        self._moved: dict[Any, lockstep.Moved] = {}
        self._meters: dict[Any, lockstep.Meters] = {}
        self._rows = payloadless.KeptRows()
        self._under_way: set[PendingCollective] = set()  # whose traffic is not over
        self._light = LightCollectives(clock, moving, self._under_way)

    def used(self) -> list[str]:
        """In which ways collectives were done together."""
        return [how for how, times in self.operations.items() if times]

    # ------------------------------------------------------------------------ for the collectives

    def choose(
        self, group: ProcessGroup, collective: str, said: Fingerprint, nbytes: int, algorithm: Algorithm
    ) -> tuple[Schedule, Fingerprint]:
        """All ranks share what was chosen for one of them."""
        links = self.facts(group).links
        key = group.size(), links, collective, said, nbytes, algorithm, len(choice.changes)
        found = self._chosen.get(key)
        if found is None:
            found = OVER_TRANSPORT.choose(group, collective, said, nbytes, algorithm)
            self._chosen[key] = found
            root = group.ranks.index(said.root) if said.root >= 0 else None
            if not domain.is_for_all_at_once(found[0], group.size(), root):
                self._by_rank.add(found[0])
        return found

    def facts(self, group: ProcessGroup) -> GroupFacts:
        number, ranks = group.channel.number, group.channel.ranks
        found = self._facts.get(number)
        if found is None:
            node_of, topology = self.medium.node_of, self.medium.network.topology
            nodes = [] if node_of is None else [node_of(rank) for rank in ranks]
            found = self._facts[number] = GroupFacts(
                links_of(group),
                topology_links.wires_of(topology, ranks, self.adding),
                np.array(nodes, np.int64) if len(set(nodes)) > 1 else None,
            )
        return found

    def carry_out(
        self, call: PreparedCall, vector: MakeVector, operation: CollectiveOperation, arrays: Mapping[Any, Array]
    ) -> None:
        if self.may_meet(call):
            self.meet(call, operation, arrays)
            return
        cut = vector(call.schedule)
        if self._may_be_light(call, cut, arrays):
            self.operations["light"] += call.rank == 0
            self._light.run(call, cut, operation)
        else:
            super().carry_out(call, lambda _: cut, operation, arrays)

    # ------------------------------------------------------------------------------ all together

    def may_meet(self, call: PreparedCall) -> bool:
        return (
            self._is_unwatched(call)
            and call.size >= (self.many or 0)
            and call.schedule.collective in TOGETHER
            and self.facts(call.group).wires is not None
        )

    def _is_unwatched(self, call: PreparedCall) -> bool:
        """Whether its messages may go in another way than one by one."""
        return (
            self.many is not None
            and call.schedule not in self._by_rank
            and self.is_eager
            and not sees_messages(call.group)
            and not self.medium.is_disturbed
        )

    def _may_be_light(self, call: PreparedCall, vector: Vector, arrays: Mapping[Any, Array]) -> bool:
        """Whether nobody asks for the messages themselves, and all ranks know their lengths."""
        return (
            not has_numbers(next(iter(arrays.values()), None))
            and self._is_unwatched(call)
            and call.schedule.collective != "all_to_all"
            and not self.adding
            and len(self._light.rows(call, vector).source) <= payloadless.MOST
        )

    def meet(self, call: PreparedCall, operation: CollectiveOperation, arrays: Mapping[Any, Array]) -> None:
        pending, rank = self._met(call, operation, arrays), call.rank
        end = call.group.world.transport
        assert isinstance(end, SimTransport)
        CollectiveWaiter(pending, operation, rank, self.clock).wait(end)
        if self.adding and pending.busy is not None:
            me, busy = self.clock.me(), int(pending.busy[rank])
            me.waited, me.slept = me.waited - busy, me.slept + busy

    def _met(
        self, call: PreparedCall, operation: CollectiveOperation, arrays: Mapping[Any, Array]
    ) -> PendingCollective:
        """This rank has come; the first one makes the meeting, and the last one concludes it."""
        channel, rank = operation.channel, call.rank
        key = channel.number, operation.sequence
        pending = self._pending.get(key)
        if pending is None:
            pending = self._pending[key] = PendingCollective(channel.size, operation, self._under_way)
            if self._under_way or self.medium.is_moving:
                self._begin_at_once(call, pending, arrays)
        else:
            pending.compare(operation)
        pending.came[rank], pending.arrays[rank] = operation, arrays
        pending.entry[rank] = self.clock.now()
        if pending.traffic is not None:
            pending.traffic.enter(rank)
        if len(pending.came) == pending.size and pending.error is None:
            del self._pending[key]
            try:
                self._conclude(call, pending)
            except DistMismatch as error:
                pending.fail(error)
        return pending

    def _conclude(self, call: PreparedCall, pending: PendingCollective) -> None:
        """The last one has come: what becomes of the values, and when does each rank go on?"""
        group, schedule, size = call.group, call.schedule, pending.size
        ranks = group.channel.ranks
        arrays = [pending.arrays[rank] for rank in range(size)]
        sizes = collective_results.sizes_of(call, arrays)
        collective_results.compute(schedule, sizes, arrays, call.combine)
        some = next(iter(arrays[0].values()), None)
        pending.arrays.clear()  # a rank that still waits here shall not keep these for all
        nbytes = sizes * (some.itemsize if some is not None else 1)
        meters = self._meters_of(group, schedule, nbytes, size)
        pending.busy = meters.added * self.adding
        for end in pending.ends.values():
            end.need_no_news()
        if pending.traffic is None:
            began = int(pending.entry.min())
            if began <= self.medium.latest and began < self.clock.now():
                self.medium.crossings += 1  # others have gone where these should have been
            moved = self._moved_together(group, pending, schedule, nbytes, int(meters.messages.sum()))
            if moved is not None:
                self._pass(pending, ranks, moved, meters)
                return
            self._send_out(group, pending, schedule, nbytes).catch_up(pending.entry.tolist())
        self.operations["light"] += 1
        pending.done = pending.ended

    def _meters_of(self, group: ProcessGroup, schedule: Schedule, nbytes: Integers, size: int) -> lockstep.Meters:
        nodes = self.facts(group).nodes
        key = schedule, size, nbytes.tobytes(), None if nodes is None else group.channel.number
        meters = self._meters.get(key)
        if meters is None:
            meters = self._meters[key] = lockstep.meters(schedule, nbytes, size, nodes)
        return meters

    def _moved_together(
        self, group: ProcessGroup, pending: PendingCollective, schedule: Schedule, nbytes: Integers, messages: int
    ) -> lockstep.Moved | None:
        """None where messages that come afterwards could meet these, and these are few enough to be
        sent one by one."""
        ranks, links = group.channel.ranks, self.facts(group).wires
        assert links is not None
        tx, rx = map(np.array, self.medium.ports(ranks))
        are_few = messages <= payloadless.MOST
        if are_few and self.medium.is_moving:
            return None
        try:
            moved = lockstep.move(schedule, nbytes, links, pending.entry, tx, rx, self._moved, not are_few)
        except arrivals.Overtaken:
            return None
        if are_few and not moved.is_settled:
            return None
        return moved

    def _pass(
        self, pending: PendingCollective, ranks: Sequence[int], moved: lockstep.Moved, meters: lockstep.Meters
    ) -> None:
        """All messages have passed the network together; each rank goes on when it is done."""
        self.operations[moved.how] += 1
        self._count_crossings(ranks, moved)
        done = pending.done = moved.clock
        if self.medium.carried is not None:
            last = int(pending.entry.max())
            for rank, end in zip(ranks, done.tolist(), strict=True):
                self.medium.carried(rank, last, end)
        self.medium.passed(
            ranks,
            moved.tx.tolist(),
            moved.rx.tolist(),
            meters.messages.tolist(),
            meters.nbytes.tolist(),
            meters.messages_in.tolist(),
            meters.nbytes_in.tolist(),
            done.tobytes(),
            int(moved.last.max()) + 1,
            None if meters.between_nodes is None else meters.between_nodes.tolist(),
        )
        for instant in np.unique(done).tolist():
            if instant > self.clock.now():
                those = np.flatnonzero(done == instant).tolist()
                self.clock.at(instant, partial(pending.go_on, those))
            else:
                pending.go_on(np.flatnonzero(done == instant).tolist())

    # ------------------------------------------------------------------- together, but one by one

    def _begin_at_once(self, call: PreparedCall, pending: PendingCollective, arrays: Mapping[Any, Array]) -> None:
        """Messages are under way, which those of the first to come may meet."""
        size = pending.size
        try:
            sizes = collective_results.sizes_of(call, [arrays] * size)
        except DistMismatch:  # rows of an all_to_all are not alike: the others' are not known yet
            return
        some = next(iter(arrays.values()), None)
        nbytes = sizes * (some.itemsize if some is not None else 1)
        meters = self._meters_of(call.group, call.schedule, nbytes, size)
        if int(meters.messages.sum()) <= payloadless.MOST:
            self._send_out(call.group, pending, call.schedule, nbytes)

    def _send_out(
        self, group: ProcessGroup, pending: PendingCollective, schedule: Schedule, nbytes: Integers
    ) -> payloadless.Traffic:
        key = schedule, pending.size, nbytes.tobytes(), group.channel.number
        links = self.facts(group).wires
        assert links is not None
        rows = self._rows.get(key, lambda: batched_overtaking.Script(schedule, nbytes, links, pending.size))
        return pending.begin(self.medium, rows, group.channel.ranks)

    def _count_crossings(self, ranks: Sequence[int], moved: lockstep.Moved) -> None:
        """Count the ranks at which this operation's messages come before the last one of an earlier
        operation, whose times were found without knowing of them."""
        if moved.how != "closed":
            firsts = moved.first.tolist()
            self.medium.crossings += sum(
                self._last.get(rank, -1) >= first for rank, first in zip(ranks, firsts, strict=True)
            )
        self._last.update(zip(ranks, moved.last.tolist(), strict=True))

    def __repr__(self) -> str:
        return f"<BatchedEngine, {self.operations}, {len(self._pending)} are gathering>"
