"""How collectives are carried out in a simulated world: message by message, or all ranks together.

    a rank comes ──► the meeting of its group's n-th operation ──► it waits for the others
    the last one comes ──► times by `lockstep`, values by `fold` ──► each goes on at its own instant

Together can be done what nobody leaves before the last has come: all_reduce, all_gather, reduce_scatter,
all_to_all and barrier. It is done where ports belong to single ranks, sends are eager and nobody asks
for the messages themselves (a fault, a journal). Everything else goes message by message (`stepwise`).
Both give the same times and the same bits.

Clocks are moved together where nothing can come between: all messages have reached their ports before
the first rank leaves. Else what it sends next might meet them, and the messages pass the network one
by one after all, without their bytes (`light`); so does what begins while such messages are under
way. Only where they are too many for that, clocks are moved together all the same, and what crosses is
counted.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from minitorch_dist.distributed import collectives
from minitorch_dist.distributed.exceptions import DistMismatch, DistTimeout
from minitorch_dist.distributed.execution import planner
from minitorch_dist.distributed.execution.operations import Operation
from minitorch_dist.distributed.execution.plan import Vector
from minitorch_dist.distributed.groups import Group
from minitorch_dist.distributed.mail.receives import Array
from minitorch_dist.distributed.mail.wire import Fingerprint
from minitorch_dist.distributed.reductions import Combine
from minitorch_dist.distributed.schedules import choice
from minitorch_dist.distributed.schedules.schedule import Schedule
from minitorch_dist.sim import crowd, declared, light, lockstep, values
from minitorch_dist.sim.meeting import Meeting, Waiter
from minitorch_dist.sim.stepwise import Stepwise
from transports.sim import SimTransport
from transports.virtual.clock import VirtualClock
from transports.virtual.medium import Medium

TOGETHER = ("all_reduce", "all_gather", "reduce_scatter", "all_to_all", "barrier")
MANY = 64  # ranks of a group, from which on `auto` does not send its messages one by one

Integers = NDArray[np.int64]


class Engine:
    """Of all ranks of one simulated world. `together`: whether groups of `many` and more ranks may do
    what they do at once."""

    def __init__(self, clock: VirtualClock, moving: Medium, adding: int, many: int | None) -> None:
        self.clock, self.medium, self.adding, self.many = clock, moving, adding, many
        network = moving.network
        self.is_eager = network.eager is None and network.window is None
        self.operations = dict.fromkeys(
            ("messages", "lockstep", "closed", "one by one", "light"), 0
        )
        self._chosen: dict[Any, tuple[Schedule, Fingerprint]] = {}
        self._meetings: dict[tuple[int, int], Meeting] = {}
        self._wires: dict[int, declared.Wires | None] = {}
        self._last: dict[int, int] = {}  # by rank: when the last message of a meeting reached it
        self._moved: dict[Any, lockstep.Moved] = {}
        self._meters: dict[Any, lockstep.Meters] = {}
        self._rows: dict[Any, light.Rows] = {}
        self._under_way: set[Meeting] = set()  # whose traffic is not over

    def used(self) -> list[str]:
        """In which ways collectives were done together."""
        return [how for how, times in self.operations.items() if times and how != "messages"]

    # ------------------------------------------------------------------------ for the collectives

    def recipe(
        self, group: Group, collective: str, said: Fingerprint, nbytes: int,
        how: collectives.How, vector: Callable[[Schedule], Vector], root: int | None, more: Any,
    ) -> values.Recipe:  # fmt: skip
        key = group.size(), collective, said, nbytes, how.algorithm, choice.version()
        found = self._chosen.get(key)
        if found is None:
            links = collectives.links_of(group)
            schedule = choice.choose(collective, group.size(), nbytes, links, how.algorithm)
            found = schedule, said._replace(algorithm=schedule.algorithm)
            self._chosen[key] = found
        return values.Recipe(*found, root, vector, nbytes)

    def execute(
        self, group: Group, operation: Operation, recipe: values.Recipe, arrays: Mapping[Any, Array],
        combine: Combine | None,
    ) -> None:  # fmt: skip
        size = group.size()
        if size == 1:
            return
        if self._may_meet(group, recipe):
            self._meet(group, operation, recipe, arrays, combine)
            return
        self.operations["messages"] += operation.channel.rank == 0
        vector = recipe.vector(recipe.schedule)
        steps = Stepwise(operation, recipe.schedule, recipe.root, vector, arrays, combine)
        is_plain = self.is_eager and not self.adding and not self.medium.is_disturbed
        if is_plain and group.world.mailbox.recorder is None:
            steps.run_by_arrivals(group.world.transport, self.clock)
        else:
            wanted = None
            if group.world.mailbox.recorder is not None:
                me = operation.channel.rank
                wanted = planner.plan(recipe.schedule, me, size, recipe.root, vector)
            steps.run_by_itself(self.clock.pause, self.adding, wanted)

    # ------------------------------------------------------------------------------ all together

    def _may_meet(self, group: Group, recipe: values.Recipe) -> bool:
        return (
            self.many is not None
            and group.size() >= self.many
            and recipe.schedule.collective in TOGETHER
            and self.is_eager
            and group.world.mailbox.recorder is None
            and not self.medium.is_disturbed
            and self._wires_of(group) is not None
        )

    def _wires_of(self, group: Group) -> declared.Wires | None:
        number = group.channel.number
        if number not in self._wires:
            topology = self.medium.network.topology
            self._wires[number] = declared.wires_of(topology, group.channel.ranks, self.adding)
        return self._wires[number]

    def _meet(
        self, group: Group, operation: Operation, recipe: values.Recipe,
        arrays: Mapping[Any, Array], combine: Combine | None,
    ) -> None:  # fmt: skip
        channel, rank = operation.channel, operation.channel.rank
        key = channel.number, operation.sequence
        meeting = self._meetings.get(key)
        if meeting is None:
            meeting = self._meetings[key] = Meeting(channel.size, operation)
            if self._under_way or self.medium.is_moving:
                self._begin_at_once(group, meeting, recipe, arrays)
        elif meeting.first.expects != operation.expects:
            self._differ(meeting, operation)
        meeting.came[rank], meeting.arrays[rank] = (self.clock.now(), operation), arrays
        if meeting.traffic is not None:
            meeting.traffic.enter(rank)
        if len(meeting.came) == meeting.size and meeting.error is None:
            del self._meetings[key]
            try:
                self._conclude(group, meeting, recipe, combine)
            except DistMismatch as error:
                self._fail(meeting, error)
        waiting = Waiter(meeting, operation, rank, self.clock)
        deadline = self.clock.deadline(operation.timeout)
        end = group.world.transport
        assert isinstance(end, SimTransport)
        meeting.ends[rank] = end
        try:
            while not waiting.is_over():
                end.progress(deadline.left(), waiting.is_over)
                if not waiting.is_over() and deadline.is_over():
                    raise DistTimeout(waiting.late(deadline.elapsed()))
        except BaseException as error:
            if meeting.error is None and isinstance(error, Exception):
                meeting.error = error  # nobody can meet any more
                self._stop(meeting)
            raise
        reason = operation.error or waiting.error()
        if reason is not None:
            raise reason
        if self.adding and meeting.busy is not None:
            me, busy = self.clock.me(), int(meeting.busy[rank])
            me.waited, me.slept = me.waited - busy, me.slept + busy

    def _differ(self, meeting: Meeting, operation: Operation) -> None:
        """Two ranks do not do the same: both are told, and so is everyone."""
        first = meeting.first
        error = operation.channel.mailbox.difference(
            f"is in {operation.describe()}", first.channel.mailbox.rank,
            first.header(), operation.expects,
        )  # fmt: skip
        operation.fail(error)
        self._fail(meeting, error)

    def _fail(self, meeting: Meeting, error: Exception) -> None:
        meeting.error = error
        self._stop(meeting)
        for _, other in meeting.came.values():
            other.fail(error)
        for end in meeting.ends.values():
            end.look_again()

    def _conclude(
        self, group: Group, meeting: Meeting, recipe: values.Recipe, combine: Combine | None
    ) -> None:
        """The last one has come: what becomes of the values, and when does each rank go on?"""
        schedule, size, ranks = recipe.schedule, meeting.size, group.channel.ranks
        arrays = [meeting.arrays[rank] for rank in range(size)]
        sizes = values.sizes_of(recipe, arrays)
        values.compute(schedule, sizes, arrays, combine)
        some = next(iter(arrays[0].values()), None)
        meeting.arrays.clear()  # who waits here still shall not keep what others have forgotten
        nbytes = sizes * (some.itemsize if some is not None else 1)
        meters = self._meters_of(schedule, nbytes, size)
        meeting.busy = meters.added * self.adding
        for end in meeting.ends.values():
            end.need_no_news()
        if meeting.traffic is None:
            began = min(instant for instant, _ in meeting.came.values())
            if began <= self.medium.latest and began < self.clock.now():
                self.medium.crossings += 1  # others have gone where these should have been
            moved = self._moved_together(group, meeting, schedule, nbytes, meters)
            if moved is not None:
                self._pass(meeting, ranks, moved, meters)
                return
            entries = [meeting.came[rank][0] for rank in range(size)]
            self._send_out(group, meeting, schedule, nbytes).catch_up(entries)
        self.operations["light"] += 1
        meeting.done = meeting.ended

    def _meters_of(self, schedule: Schedule, nbytes: Integers, size: int) -> lockstep.Meters:
        key = schedule, size, nbytes.tobytes()
        meters = self._meters.get(key)
        if meters is None:
            meters = self._meters[key] = lockstep.meters(schedule, nbytes, size)
        return meters

    def _moved_together(
        self, group: Group, meeting: Meeting, schedule: Schedule, nbytes: Integers,
        meters: lockstep.Meters,
    ) -> lockstep.Moved | None:  # fmt: skip
        """None where messages that come afterwards could meet these, and these are few enough to be
        sent one by one."""
        size, ranks, links = meeting.size, group.channel.ranks, self._wires_of(group)
        assert links is not None
        entry = np.array([meeting.came[rank][0] for rank in range(size)], np.int64)
        tx, rx = self.medium.ports(ranks)
        are_few = int(meters.messages.sum()) <= light.MOST
        if are_few and self.medium.is_moving:
            return None
        try:
            moved = lockstep.move(
                schedule, nbytes, links, entry, np.array(tx), np.array(rx), self._moved, not are_few
            )
        except lockstep.Overtaken:
            return None
        if are_few and not moved.is_settled:
            return None
        return moved

    def _pass(
        self, meeting: Meeting, ranks: Sequence[int], moved: lockstep.Moved, meters: lockstep.Meters
    ) -> None:
        """All messages have passed the network together; each rank goes on when it is done."""
        self.operations[moved.how] += 1
        self._look_back(ranks, moved)
        done = meeting.done = moved.clock
        self.medium.passed(
            ranks, moved.tx.tolist(), moved.rx.tolist(), meters.messages.tolist(),
            meters.nbytes.tolist(), meters.messages_in.tolist(), meters.nbytes_in.tolist(),
            done.tobytes(), int(moved.last.max()) + 1,
        )  # fmt: skip
        for instant in np.unique(done).tolist():
            if instant > self.clock.now():
                those = np.flatnonzero(done == instant).tolist()
                self.clock.at(instant, partial(self._go_on, meeting, those))
            else:
                self._go_on(meeting, np.flatnonzero(done == instant).tolist())

    # ------------------------------------------------------------------- together, but one by one

    def _begin_at_once(
        self, group: Group, meeting: Meeting, recipe: values.Recipe, arrays: Mapping[Any, Array]
    ) -> None:
        """Messages are under way, which those of the first to come may meet."""
        size = meeting.size
        try:
            sizes = values.sizes_of(recipe, [arrays] * size)
        except DistMismatch:  # rows of an all_to_all are not alike: the others' are not known yet
            return
        some = next(iter(arrays.values()), None)
        nbytes = sizes * (some.itemsize if some is not None else 1)
        if int(self._meters_of(recipe.schedule, nbytes, size).messages.sum()) <= light.MOST:
            self._send_out(group, meeting, recipe.schedule, nbytes)

    def _send_out(
        self, group: Group, meeting: Meeting, schedule: Schedule, nbytes: Integers
    ) -> light.Traffic:
        key = schedule, meeting.size, nbytes.tobytes(), group.channel.number
        rows = self._rows.get(key)
        if rows is None:
            links = self._wires_of(group)
            assert links is not None
            while sum(len(kept.source) for kept in self._rows.values()) > light.KEPT:
                del self._rows[next(iter(self._rows))]
            script = crowd.Script(schedule, nbytes, links, meeting.size)
            rows = self._rows[key] = light.rows(script)

        def over(rank: int) -> None:
            meeting.ended[rank] = self.clock.now()
            if not traffic.left:
                self._under_way.discard(meeting)
            self._go_on(meeting, [rank])

        traffic = light.Traffic(self.medium, rows, group.channel.ranks, over)
        meeting.traffic = traffic
        self._under_way.add(meeting)
        return traffic

    def _stop(self, meeting: Meeting) -> None:
        if meeting.traffic is not None:
            meeting.traffic.stop()
            self._under_way.discard(meeting)

    def _look_back(self, ranks: Sequence[int], moved: lockstep.Moved) -> None:
        """Count the ranks at which this operation's messages come before the last one of an earlier
        operation, whose times were found without knowing of them."""
        if moved.how != "closed":
            firsts = moved.first.tolist()
            self.medium.crossings += sum(
                self._last.get(rank, -1) >= first for rank, first in zip(ranks, firsts, strict=True)
            )
        self._last.update(zip(ranks, moved.last.tolist(), strict=True))

    def _go_on(self, meeting: Meeting, ranks: list[int]) -> None:
        for rank in ranks:
            if rank in meeting.ends:  # else the last one, who is not waiting yet
                meeting.ends[rank].look_again()

    def __repr__(self) -> str:
        return f"<Engine, {self.operations}, {len(self._meetings)} meetings>"
