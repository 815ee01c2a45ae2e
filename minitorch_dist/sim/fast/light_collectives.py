"""Collectives whose arrays have no numbers, message by message: nothing is packed, matched and unpacked.

    a rank comes ──► its row of acts begins (see `payloadless`) ──► it goes on when its row is over

Each rank begins when it comes, and leaves when it is done: nobody waits for the others. So this serves rooted
collectives, too. The messages pass the same ports in the same order as real ones. So times, counters and bytes are
the same, whatever passes beside them and on every network.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np

from minitorch_dist.distributed.execution.layout import Vector
from minitorch_dist.distributed.execution.operations import CollectiveOperation
from minitorch_dist.distributed.prepared import PreparedCall
from minitorch_dist.distributed.schedules import batched_overtaking
from minitorch_dist.distributed.schedules.links import Links
from minitorch_dist.sim.fast import payloadless
from minitorch_dist.sim.fast.pending_collective import CollectiveWaiter, PendingCollective
from transports.sim import SimTransport
from transports.virtual.clock import VirtualClock
from transports.virtual.medium import Medium


class LightCollectives:
    """Of one simulated world. `under_way` is shared with those who need to know that messages are."""

    def __init__(
        self, clock: VirtualClock, medium: Medium, under_way: set[PendingCollective]
    ) -> None:
        self.clock, self.medium, self.under_way = clock, medium, under_way
        self._pending: dict[tuple[int, int], PendingCollective] = {}
        self._rows = payloadless.KeptRows()

    def run(self, call: PreparedCall, vector: Vector, operation: CollectiveOperation) -> None:
        """Carry out the part of one rank. It returns when that is over."""
        self.carry_out(call, operation, self.rows(call, vector))

    def carry_out(
        self, call: PreparedCall, operation: CollectiveOperation, rows: payloadless.Rows,
        kind: Callable[..., payloadless.Traffic] = payloadless.Traffic,
    ) -> None:  # fmt: skip
        """The same with given rows of acts."""
        pending, rank = self._met(operation, rows, kind), call.rank
        assert pending.traffic is not None
        pending.came[rank] = operation
        pending.traffic.enter(rank)
        end = call.group.world.transport
        assert isinstance(end, SimTransport)
        LightWaiter(pending, operation, rank, self.clock).wait(end)

    def _met(
        self, operation: CollectiveOperation, rows: payloadless.Rows,
        kind: Callable[..., payloadless.Traffic],
    ) -> PendingCollective:  # fmt: skip
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


class LightWaiter(CollectiveWaiter):
    """One rank in such a collective."""

    def is_done(self) -> bool:
        return self.clock.now() >= int(self.pending.ended[self.rank])

    def is_over(self) -> bool:
        return self.is_done() or self.operation.error is not None or self.error() is not None

    def error(self) -> Exception | None:
        if len(self.pending.came) == self.pending.size:
            return self.pending.error
        return super().error()

    __call__ = is_over
