"""What a caller can meet, under torch's names. All are RuntimeErrors, as torch's are.

DistError
├── DistBackendError
│   ├── DistTimeout      a peer did not come; also a TimeoutError
│   ├── DistMismatch     ranks are not doing the same
│   └── PeerFailed       another rank says that its part of the operation has failed
├── PeerLost             a peer is gone; `rank` says which
├── Deadlock             everybody waits, for ever; known at once in virtual time
├── Livelock             something happens for ever; known in virtual time by counting
├── DistNetworkError     a port in use, a host that does not answer
└── DistStoreError       (StoreTimeout, QueueEmptyError)
"""

from __future__ import annotations

from transports import errors
from transports.errors import (
    ConnectError,
    Deadlock,
    DistError,
    DistNetworkError,
    DistStoreError,
    Livelock,
    QueueEmptyError,
    StoreTimeout,
    TransportClosed,
    TrustError,
)

__all__ = [
    "ConnectError", "Deadlock", "DistBackendError", "DistError", "DistMismatch", "DistNetworkError",
    "DistStoreError", "DistTimeout", "Livelock", "PeerFailed", "PeerLost", "QueueEmptyError", "StoreTimeout",
    "TransportClosed", "TrustError",
]  # fmt: skip


class DistBackendError(DistError):
    """An operation between ranks failed."""


class DistTimeout(DistBackendError, TimeoutError):
    """Somebody did not come in time; says who waited for whom, in what and where."""


class DistMismatch(DistBackendError):
    """Ranks that should do the same do different things; says what each does and where."""


class PeerFailed(DistBackendError):
    """Another rank told us that the operation failed there."""


NEXT_STEP = (
    "Look for its first error; if it only had less to do than the others, see algorithms.join.Join"
)


LEFT = "it has left"  # a reason that begins so: as if all were well
LEFT_STEP = (
    "Look for a branch or a loop in which it goes another way; if it only had less to do than the "
    "others, see algorithms.join.Join"
)


class PeerLost(errors.PeerLost, DistBackendError):
    """A peer is gone, and what we were doing needed it."""

    def __init__(self, rank: int, reason: str, doing: str = "") -> None:
        super().__init__(rank, reason)
        self.doing = doing
        if doing:
            step = LEFT_STEP if reason.startswith(LEFT) else NEXT_STEP
            self.args = (f"rank {rank} is lost ({reason}), which {doing}. {step}",)

    def __reduce__(self) -> tuple[type[PeerLost], tuple[int, str, str]]:
        return type(self), (self.rank, self.reason, self.doing)
