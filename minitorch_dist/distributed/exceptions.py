"""The exceptions that a caller can meet, under torch's names. All are RuntimeErrors, as torch's are.

DistError
├── DistBackendError
│   ├── DistTimeout      a peer did not come; also a TimeoutError
│   ├── DistMismatch     ranks are not doing the same
│   └── PeerFailed       another rank says that its part of the operation has failed
├── PeerLost             a peer is gone; `rank` says which
├── RpcError             a call could not be made, or not be answered
│   ├── RpcTimeout       no answer came in time; also a DistTimeout
│   └── WorkerLost       the worker that was called is gone; also a PeerLost
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
    "DistStoreError", "DistTimeout", "Livelock", "PeerFailed", "PeerLost", "QueueEmptyError", "RpcError", "RpcTimeout", "StoreTimeout",
    "TransportClosed", "TrustError", "WorkerLost",
]  # fmt: skip


class DistBackendError(DistError):
    """An operation between ranks failed."""


class DistTimeout(DistBackendError, TimeoutError):
    """Somebody did not come in time; says who waited for whom, in what and where.

    Example:
        >>> def program():
        ...     if dist.get_rank() == 1:
        ...         return sim.compute(5.0)  # it is late
        ...     try:
        ...         dist.barrier()
        ...     except dist.DistTimeout as error:
        ...         return "rank 1" in str(error)
        >>> sim.run(program, 2, timeout=1.0).results
        [True, None]
    """


class DistMismatch(DistBackendError):
    """Ranks that should do the same do different things; says what each does and where.

    Example:
        >>> def program():
        ...     try:
        ...         dist.all_reduce(torch.zeros(2 + dist.get_rank()))
        ...     except dist.DistMismatch as error:
        ...         return "float32[3]" in str(error)
        >>> sim.run(program, 2).results
        [True, True]
    """


class PeerFailed(DistBackendError):
    """Another rank told us that the operation failed there."""


NEXT_STEP = "Look for its first error; if it only had less to do than the others, see algorithms.join.Join"


LEFT_STEP = (
    "Look for a branch or a loop in which it goes another way; if it only had less to do than the "
    "others, see algorithms.join.Join"
)


class PeerLost(errors.PeerLost, DistBackendError):
    """A peer is gone, and what we were doing needed it.

    Args:
        rank: The peer.
        reason: How it was lost, in words.
        doing: The operation of this rank, in words.

    Example:
        >>> def program():
        ...     if dist.get_rank() == 1:
        ...         return "left"
        ...     try:
        ...         dist.recv(torch.empty(1), 1)
        ...     except dist.PeerLost as error:
        ...         return error.rank
        >>> sim.run(program, 2).results
        [1, 'left']
    """

    def __init__(self, rank: int, reason: str, doing: str = "") -> None:
        super().__init__(rank, reason)
        self.doing = doing
        if doing:
            step = LEFT_STEP if self.kind == "left" else NEXT_STEP
            self.args = (f"rank {rank} is lost ({reason}), which {doing}. {step}",)

    def __reduce__(self) -> tuple[type[PeerLost], tuple[int, str, str]]:
        return type(self), (self.rank, self.why, self.doing)


class RpcError(DistError):
    """A call could not be made, or not be answered."""


class RpcTimeout(RpcError, DistTimeout):
    """No answer came in time. `may_have_run` says whether the function may have been called."""

    def __init__(self, message: str, may_have_run: bool = True) -> None:
        super().__init__(message)
        self.may_have_run = may_have_run

    def __reduce__(self) -> tuple[type[RpcTimeout], tuple[str, bool]]:
        return type(self), (str(self), self.may_have_run)


class WorkerLost(RpcError, PeerLost):
    """The worker that was called is gone. `may_have_run` says whether its function may have run."""

    def __init__(self, rank: int, reason: str, doing: str = "", may_have_run: bool = True) -> None:
        super().__init__(rank, reason, doing)
        self.may_have_run = may_have_run

    def __reduce__(self) -> tuple[type[WorkerLost], tuple[int, str, str, bool]]:  # type: ignore[override]
        return type(self), (self.rank, self.why, self.doing, self.may_have_run)
