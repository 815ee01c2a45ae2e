"""One collective of one group, for which its ranks gather, and a rank that waits in it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from minitorch_dist.distributed.exceptions import PeerLost
from minitorch_dist.distributed.execution.operations import CollectiveOperation
from minitorch_dist.distributed.mail.receives import Array
from minitorch_dist.distributed.schedules import arrivals
from minitorch_dist.sim import payloadless
from transports.contract import Waiting
from transports.sim import SimTransport
from transports.virtual.clock import VirtualClock

Integers = NDArray[np.int64]


class PendingCollective:
    """One operation of a group, for which its ranks gather."""

    def __init__(self, size: int, first: CollectiveOperation) -> None:
        self.size, self.first = size, first
        self.came: dict[int, tuple[int, CollectiveOperation]] = {}  # by group rank
        self.arrays: dict[int, Mapping[Any, Array]] = {}  # of those who came, until it is done
        self.ends: dict[int, SimTransport] = {}  # at which they wait
        self.done: Integers | None = None  # when each rank may go on,
        self.busy: Integers | None = None  # and how long it was busy with adding
        self.traffic: payloadless.Traffic | None = None  # where its messages go one by one,
        self.ended = np.full(size, arrivals.NEVER, np.int64)  # and each rank is done with them
        self.error: Exception | None = None

    def missing(self) -> list[int]:
        return [rank for rank in range(self.size) if rank not in self.came]

    def __repr__(self) -> str:
        return f"<Meeting of {self.first.describe()}, {len(self.came)} of {self.size} came>"


class CollectiveWaiter:
    """One rank at a meeting."""

    def __init__(
        self,
        pending: PendingCollective,
        operation: CollectiveOperation,
        rank: int,
        clock: VirtualClock,
    ) -> None:
        self.pending, self.operation, self.rank, self.clock = pending, operation, rank, clock

    def is_over(self) -> bool:
        pending = self.pending
        if pending.done is not None:
            return self.clock.now() >= int(pending.done[self.rank])
        return self.operation.error is not None or self.error() is not None

    def error(self) -> Exception | None:
        """Why nothing will come of this meeting."""
        if self.pending.done is not None or self.pending.error is not None:
            return self.pending.error
        mailbox = self.operation.channel.mailbox
        if mailbox.gone:
            for rank in self._absent():
                if rank in mailbox.gone:
                    doing = f"rank {mailbox.rank} needs in {self.operation.describe()}"
                    return PeerLost(rank, mailbox.gone[rank], doing)
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
            "not come. Look for an error or a branch that only some ranks take"
        )
