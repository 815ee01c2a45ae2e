"""What can go wrong with a call, besides what its function raises."""

from __future__ import annotations

from minitorch_dist.distributed.exceptions import DistError, DistTimeout, PeerLost


class RpcError(DistError):
    """A call could not be made, or not be answered."""


class RpcTimeout(RpcError, DistTimeout):
    """No answer came in time. `may_have_run` says whether the function can have been called."""

    def __init__(self, message: str, may_have_run: bool = True) -> None:
        super().__init__(message)
        self.may_have_run = may_have_run

    def __reduce__(self) -> tuple[type[RpcTimeout], tuple[str, bool]]:
        return type(self), (str(self), self.may_have_run)


class WorkerLost(RpcError, PeerLost):
    """The worker that was called is gone. `may_have_run` as above."""

    def __init__(self, rank: int, reason: str, doing: str = "", may_have_run: bool = True) -> None:
        super().__init__(rank, reason, doing)
        self.may_have_run = may_have_run

    def __reduce__(self) -> tuple[type[WorkerLost], tuple[int, str, str, bool]]:  # type: ignore[override]
        return type(self), (self.rank, self.reason, self.doing, self.may_have_run)


NOT_INITIALIZED = "RPC has not been initialized. Call torch.distributed.rpc.init_rpc first."
