"""One collective of one group, for which its ranks gather, a rank that waits in it, and those without numbers."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from minitorch_dist.distributed.exceptions import DistTimeout, PeerLost
from minitorch_dist.distributed.execution.chunks import Vector
from minitorch_dist.distributed.execution.operations import CollectiveOperation
from minitorch_dist.distributed.mail.receives import Array
from minitorch_dist.distributed.prepared import PreparedCall
from minitorch_dist.distributed.schedules import arrivals, batched_overtaking
from minitorch_dist.distributed.schedules.links import Links
from minitorch_dist.sim.fast import payloadless
from transports.sim import SimTransport
from transports.virtual.clock import VirtualClock
from transports.virtual.inboxes import Waiting
from transports.virtual.medium import Medium

Integers = NDArray[np.int64]


class PendingCollective:
    """One operation of a group, for which its ranks gather. `under_way`: those whose messages go one by one now."""

    def __init__(self, size: int, first: CollectiveOperation, under_way: set[PendingCollective]) -> None:
        self.size, self.first, self.under_way = size, first, under_way
        self.came: dict[int, CollectiveOperation] = {}  # by group rank,
        self.entry = np.zeros(size, np.int64)  # and when
        self.arrays: dict[int, Mapping[Any, Array]] = {}  # of those who came, until it is done
        self.ends: dict[int, SimTransport] = {}  # at which they wait
        self.done: Integers | None = None  # when each rank may go on,
        self.busy: Integers | None = None  # and how long it was busy with adding
        self.traffic: payloadless.Traffic | None = None  # where its messages go one by one,
        self.ended = np.full(size, arrivals.NEVER, np.int64)  # and each rank is done with them
        self.error: Exception | None = None

    def missing(self) -> list[int]:
        return [rank for rank in range(self.size) if rank not in self.came]

    def begin(
        self,
        medium: Medium,
        rows: payloadless.Rows,
        ranks: Sequence[int],
        kind: Callable[..., payloadless.Traffic] = payloadless.Traffic,
    ) -> payloadless.Traffic:
        """From now on its messages go one by one, and each rank is done when its row of acts is over."""

        def over(rank: int) -> None:
            self.ended[rank] = medium.clock.now()
            if not traffic.left:
                self.under_way.discard(self)
            self.go_on([rank])

        traffic = self.traffic = kind(medium, rows, ranks, over)
        self.under_way.add(self)
        return traffic

    def go_on(self, ranks: Iterable[int]) -> None:
        """These ranks look again. One that has not begun to wait will look by itself."""
        for rank in ranks:
            if rank in self.ends:
                self.ends[rank].wake_waiting()

    def compare(self, operation: CollectiveOperation) -> None:
        """A rank comes with this operation. If it is not the same as the first one's, all learn of it."""
        if self.first.expects != operation.expects:
            error = operation.channel.mailbox.difference(
                f"is in {operation.describe()}", self.first.channel.mailbox.rank, self.first.header(), operation.expects
            )
            operation.fail(error)
            self.fail(error)

    def fail(self, error: Exception) -> None:
        self.stop(error)
        for other in self.came.values():
            other.fail(error)
        self.go_on(list(self.ends))

    def stop(self, error: Exception) -> None:
        """Nothing will come of it any more."""
        self.error = error
        if self.traffic is not None:
            self.traffic.stop()
            self.under_way.discard(self)

    def __repr__(self) -> str:
        return f"<PendingCollective {self.first.describe()}, {len(self.came)} of {self.size} came>"


class CollectiveWaiter:
    """One rank that waits in a collective."""

    def __init__(
        self, pending: PendingCollective, operation: CollectiveOperation, rank: int, clock: VirtualClock
    ) -> None:
        self.pending, self.operation, self.rank, self.clock = pending, operation, rank, clock

    def wait(self, end: SimTransport) -> None:
        """Return when this rank may go on, or raise the reason why it cannot."""
        pending, deadline = self.pending, self.clock.deadline(self.operation.timeout)
        pending.ends[self.rank] = end
        try:
            while not self.is_over():
                end.progress(deadline.left(), self)
                if not self.is_over() and deadline.is_over():
                    raise DistTimeout(self.late(deadline.elapsed()))
        except BaseException as error:
            if pending.error is None and isinstance(error, Exception):
                pending.stop(error)  # nobody can meet any more
            raise
        finally:
            pending.ends.pop(self.rank, None)
        if not self.is_done():
            reason = self.operation.error or self.error()
            assert reason is not None
            raise reason

    def is_done(self) -> bool:
        done = self.pending.ended if self.pending.done is None else self.pending.done
        return self.clock.now() >= int(done[self.rank])

    def is_over(self) -> bool:
        if self.is_done() or self.pending.done is not None:
            return self.is_done()
        return self.operation.error is not None or self.error() is not None

    def error(self) -> Exception | None:
        """Why nothing will come of this collective."""
        if len(self.pending.came) == self.pending.size or self.pending.error is not None:
            return self.pending.error
        mailbox = self.operation.channel.mailbox
        if mailbox.gone:
            for rank in self._absent():
                if rank in mailbox.gone:
                    doing = f"rank {mailbox.rank} needs in {self.operation.describe()}"
                    why = mailbox.why_lost(rank, mailbox.gone[rank], self.operation.channel.number)
                    return PeerLost(rank, why, doing)
        return None

    def _absent(self) -> list[int]:
        """Ranks of the world that have not come."""
        ranks = self.operation.channel.ranks
        return [ranks[rank] for rank in self.pending.missing()]

    __call__ = is_over  # as a transport asks that waits for it, and says what for

    def waiting_for(self) -> Waiting:
        absent = tuple(self._absent()) if self.pending.done is None else ()
        return Waiting(absent, self.operation.describe())

    def late(self, seconds: float) -> str:
        absent = self._absent()
        some = ", ".join(map(str, absent[:8])) + (" …" if len(absent) > 8 else "")
        return (
            f"rank {self.operation.channel.mailbox.rank} waited {seconds:.1f} s of virtual time in "
            f"{self.operation.describe()} for rank{'s' if len(absent) > 1 else ''} {some}, which did "
            "not come. Look for an error or a branch that only some ranks take. Timed out waiting "
            f"{1000 * seconds:.0f}ms for recv operation to complete"
        )


class LightCollectives:
    """Collectives whose arrays have no numbers, message by message: nothing is packed, matched and unpacked.

        a rank comes ──► its row of acts begins (see `payloadless`) ──► it goes on when its row is over

    Each rank begins when it comes, and leaves when it is done: nobody waits for the others. So this serves rooted
    collectives, too. The messages pass the same ports in the same order as real ones. So times, counters and bytes are
    the same, whatever passes beside them and on every network.

    Of one simulated world. `under_way` is shared with those who need to know that messages are.
    """

    def __init__(self, clock: VirtualClock, medium: Medium, under_way: set[PendingCollective]) -> None:
        self.clock, self.medium, self.under_way = clock, medium, under_way
        self._pending: dict[tuple[int, int], PendingCollective] = {}
        self._rows = payloadless.KeptRows()

    def run(self, call: PreparedCall, vector: Vector, operation: CollectiveOperation) -> None:
        """Carry out the part of one rank. It returns when that is over."""
        self.carry_out(call, operation, self.rows(call, vector))

    def carry_out(
        self,
        call: PreparedCall,
        operation: CollectiveOperation,
        rows: payloadless.Rows,
        kind: Callable[..., payloadless.Traffic] = payloadless.Traffic,
    ) -> None:
        """The same with given rows of acts."""
        pending, rank = self._met(operation, rows, kind), call.rank
        assert pending.traffic is not None
        pending.came[rank] = operation
        pending.traffic.enter(rank)
        end = call.group.world.transport
        assert isinstance(end, SimTransport)
        CollectiveWaiter(pending, operation, rank, self.clock).wait(end)

    def _met(
        self, operation: CollectiveOperation, rows: payloadless.Rows, kind: Callable[..., payloadless.Traffic]
    ) -> PendingCollective:
        """The operation of this group and number; the first to come makes it."""
        channel = operation.channel
        key = channel.number, operation.sequence
        pending = self._pending.get(key)
        if pending is None:
            pending = PendingCollective(channel.size, operation, self.under_way)
            pending.begin(self.medium, rows, channel.ranks, kind)
            self._pending[key] = pending
        else:
            pending.compare(operation)
        if len(pending.came) == pending.size - 1:  # all have come, and need to hear of nobody
            del self._pending[key]
            for end in pending.ends.values():
                end.need_no_news()
        return pending

    def rows(self, call: PreparedCall, vector: Vector) -> payloadless.Rows:
        key = call.schedule, call.size, call.root, vector.sizes, vector.itemsize
        return self._rows.get(key, partial(self._made, call, vector))

    def _made(self, call: PreparedCall, vector: Vector) -> batched_overtaking.Script:
        nbytes = np.array(vector.sizes, np.int64) * vector.itemsize
        return batched_overtaking.Script(call.schedule, nbytes, Links(), call.size, call.root)

    def __repr__(self) -> str:
        return f"<LightCollectives, {len(self._pending)} are gathering>"
