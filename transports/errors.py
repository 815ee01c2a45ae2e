"""What can go wrong between ranks. Every message says what happened, what was expected, what to do next."""

from __future__ import annotations


class DistError(RuntimeError):
    """The family of errors that a caller can meet."""


class DistNetworkError(DistError):
    """The network said no: a port in use, a host that does not answer, a connection that broke."""


class ConnectError(DistNetworkError):
    """Not all peers could be reached in time; names those that are missing."""


class PeerLost(DistError):
    """A peer is gone: its process ended, its connection broke, or its heartbeat stopped."""

    def __init__(self, rank: int, reason: str) -> None:
        super().__init__(f"rank {rank} is lost: {reason}")
        self.rank = rank
        self.reason = reason


class Damaged(DistError):
    """What a peer wrote cannot be true; its transport gives that peer up."""


class TransportClosed(DistError):
    """This transport was closed on our side."""


class Deadlock(DistError):
    """Everybody waits and nothing is under way; only virtual time can tell. Says who waits for whom."""


class Livelock(DistError):
    """More events happened in virtual time than the caller has allowed, and no end is in sight."""


class DistStoreError(DistError):
    """The store could not do what was asked."""


class StoreTimeout(DistStoreError):
    """Keys did not appear in the store in time."""

    def __init__(self, seconds: float, missing: list[str], present: list[str], note: str) -> None:
        there = f"; {', '.join(present)} came" if present else ""
        super().__init__(
            f"waited {seconds:.1f} s for {', '.join(missing)}, which nobody has set{there}. {note}"
        )
        self.seconds, self.missing, self.present, self.note = seconds, missing, present, note


class QueueEmptyError(DistStoreError):
    """Nothing stands in this queue of the store."""


class TrustError(DistError):
    """A peer could not prove that it holds the job's key."""


class NotLetIn(TrustError, DistNetworkError):
    """The broker did not take our name and password."""
