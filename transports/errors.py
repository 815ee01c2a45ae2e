"""What can go wrong between ranks. Every message says what happened, what was expected, what to do next."""

from __future__ import annotations


class DistError(RuntimeError):
    """The family of errors that a caller can meet."""


class ConnectError(DistError):
    """Not all peers could be reached in time; names those that are missing."""


class PeerLost(DistError):
    """A peer is gone: its process ended, its connection broke, or its heartbeat stopped."""

    def __init__(self, rank: int, reason: str) -> None:
        super().__init__(f"rank {rank} is lost: {reason}")
        self.rank = rank
        self.reason = reason


class TransportClosed(DistError):
    """This transport was closed on our side."""


class StoreTimeout(DistError):
    """A key did not appear in the store in time; names the keys, and who has arrived."""


class TrustError(DistError):
    """A peer could not prove that it holds the job's key."""
