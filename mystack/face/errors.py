"""The errors between ranks."""


class DistNetworkError(RuntimeError):
    """The network said no."""


class TransportClosed(RuntimeError):
    """This transport was closed on our side."""


class DistTimeout(RuntimeError):
    """Nothing came in the time that one was willing to wait."""


CLOSED = "it closed its transport"  # the reason of a rank that has come to its end


class PeerLost(RuntimeError):
    """A peer is gone: its process ended, or its connection broke."""

    def __init__(self, rank, reason):
        super().__init__(f"rank {rank} is lost: {reason}")
        self.rank, self.reason = rank, reason

    @property
    def why(self):
        """The reason, to be said again."""
        return self.reason
