"""The errors that can happen between ranks. Every message says what happened, what was expected, what to do
next.
"""

from __future__ import annotations

from typing import Final, Literal, TypeAlias

from transports.plain_text import clean


class DistError(RuntimeError):
    """The family of errors that a caller can meet. Their texts may hold words of a peer."""

    def __str__(self) -> str:
        return clean(super().__str__())


class DistNetworkError(DistError):
    """The network said no: a port in use, a host that does not answer, a connection that broke."""


class ConnectError(DistNetworkError):
    """Not all peers could be reached in time; names those that are missing."""


class OtherJob(DistNetworkError):
    """A port, a file or a broker belongs to another job; names both."""


LostKind: TypeAlias = Literal["lost", "closed", "left"]


class Lost(str):
    """Why a peer is gone. The text is for people; programs ask for the kind.

    "closed": it closed its transport.
    "left":   it closed its transport, and it is known what it did last.
    "lost":   anything else. It died, its connection broke, or one of the two gave the other up.
    """

    __slots__ = ("kind",)
    kind: LostKind

    def __new__(cls, kind: LostKind, text: str) -> Lost:
        lost = super().__new__(cls, text)
        lost.kind = kind
        return lost

    @classmethod
    def of(cls, reason: str | Exception) -> Lost:
        """The reason that a transport gave. A plain text or another exception is of kind "lost"."""
        if isinstance(reason, PeerLost):
            return reason.why
        return reason if isinstance(reason, Lost) else cls("lost", f"{reason}")

    def more(self, text: str) -> Lost:
        """The same with some words behind it."""
        return Lost(self.kind, f"{self}{text}")

    def __reduce__(self) -> tuple[type[Lost], tuple[LostKind, str]]:
        return Lost, (self.kind, f"{self}")


CLOSED: Final = Lost("closed", "it closed its transport")


class PeerLost(DistError):
    """A peer is gone: its process ended, its connection broke, or its heartbeat stopped."""

    kind: LostKind = "lost"

    def __init__(self, rank: int, reason: str) -> None:
        super().__init__(f"rank {rank} is lost: {reason}")
        self.rank = rank
        self.reason = f"{reason}"  # plain values: they travel to other ranks as they are
        self.kind = reason.kind if isinstance(reason, Lost) else "lost"

    @property
    def why(self) -> Lost:
        """The reason and its kind, to be said again."""
        return Lost(self.kind, self.reason)

    def __reduce__(self) -> tuple[type[PeerLost], tuple[object, ...]]:
        return type(self), (self.rank, self.why)


class Damaged(DistError):
    """Bytes of a peer cannot be right; its transport gives that peer up."""


class Interrupted(Damaged):
    """A signal handler raised amid a delivery: what the peer sends afterwards cannot be read."""

    def __init__(self) -> None:
        super().__init__("this rank was interrupted in the middle of receiving from it")


class TransportClosed(DistError):
    """This transport was closed on our side."""


class Deadlock(DistError):
    """Everybody waits and nothing is under way; only virtual time can tell. Says which rank waits for which.

    Example:
        >>> def program():
        ...     dist.recv(torch.empty(1), 1 - dist.get_rank())
        >>> sim.run(program, 2)
        Traceback (most recent call last):
        ...
        transports.errors.Deadlock: deadlock at 0 ps: ranks 0, 1 of 2 wait, ...
    """


class NeedsBuffering(Deadlock):
    """Ranks wait in sends whose receives are not posted. Where sends are buffered they would go on."""


class Overwritten(DistError):
    """A tensor was written to between `isend` and `wait`, while it belonged to the message."""

    def __init__(self, rank: int, what: str) -> None:
        super().__init__(
            f"rank {rank} wrote to the tensor of its {what} before that was over, and what was written "
            "was sent. Wait for an isend before its tensor is written to, or send a copy"
        )
        self.rank = rank


class ReadTooEarly(DistError):
    """A tensor was used while an operation wrote into it."""

    def __init__(self, rank: int, verb: str, site: str, what: str) -> None:
        super().__init__(
            f"at {site} rank {rank} {verb} the tensor of its {what}, before that was over. Call wait() on "
            "what the operation returned before its tensor is used"
        )
        self.rank = rank


class ReceivedAtOnce(DistError):
    """A tensor was read into which several operations had written at once."""

    def __init__(self, rank: int, site: str, one: str, other: str) -> None:
        super().__init__(
            f"at {site} rank {rank} used a tensor into which two of its operations wrote at once: {one}, and "
            f"{other}. Only what came last is left. Give each a tensor of its own, or wait() for the first "
            "before the second begins"
        )
        self.rank = rank


class Livelock(DistError):
    """More events happened in virtual time than the caller has allowed, and no end is in sight."""


class DistStoreError(DistError):
    """The store could not do what was asked."""


class StoreTimeout(DistStoreError):
    """Keys did not appear in the store in time."""

    def __init__(self, seconds: float, missing: list[str], present: list[str], note: str, of_time: str = "") -> None:
        there = f"; {', '.join(present)} came" if present else ""
        super().__init__(
            f"waited {seconds:.1f} s{of_time} for {', '.join(missing)}, which nobody has set{there}. {note}"
            f" (wait timeout after {1000 * seconds:.0f}ms, keys: {', '.join(missing)})"
        )
        self.seconds, self.missing, self.present, self.note = seconds, missing, present, note


class QueueEmptyError(DistStoreError):
    """Nothing stands in this queue of the store."""


class TrustError(DistError):
    """A peer could not prove that it holds the job's key."""


class NotLetIn(TrustError, DistNetworkError):
    """The broker did not take our name and password."""
