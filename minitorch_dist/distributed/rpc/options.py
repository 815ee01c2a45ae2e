"""The options of RPC, with torch's names."""

from __future__ import annotations

from datetime import timedelta
from enum import Enum, auto
from typing import Any

from minitorch_dist.distributed.rpc.constants import (
    DEFAULT_INIT_METHOD,
    DEFAULT_NUM_WORKER_THREADS,
    DEFAULT_RPC_TIMEOUT_SEC,
)
from minitorch_dist.not_offered import tells_what_is_gone


class BackendType(Enum):
    """torch's names of the one backend that there is. The second one is that of torch before 1.8."""

    TENSORPIPE = auto()
    PROCESS_GROUP = auto()


class RpcBackendOptions:
    """The options of every backend."""

    def __init__(
        self, rpc_timeout: float | timedelta = DEFAULT_RPC_TIMEOUT_SEC, init_method: str = DEFAULT_INIT_METHOD
    ) -> None:
        self.rpc_timeout = seconds_of(rpc_timeout)  # 0 waits without end
        self.init_method = init_method


@tells_what_is_gone
class TensorPipeRpcBackendOptions(RpcBackendOptions):
    """The options of torch's backend.

    `num_worker_threads` functions run at once. A function that waits for an answer does not count, so calls
    may nest to any depth. `_transports` and `_channels` say nothing here: the transport is the one under which
    the world was launched, else tcp.
    """

    def __init__(
        self,
        *,
        num_worker_threads: int = DEFAULT_NUM_WORKER_THREADS,
        rpc_timeout: float | timedelta = DEFAULT_RPC_TIMEOUT_SEC,
        init_method: str = DEFAULT_INIT_METHOD,
        device_maps: Any = None,
        devices: Any = None,
        _transports: Any = None,
        _channels: Any = None,
    ) -> None:
        super().__init__(rpc_timeout, init_method)
        if num_worker_threads < 1:
            raise ValueError(f"num_worker_threads must be positive, but got {num_worker_threads}")
        if device_maps or devices:
            raise NotImplementedError(
                "RPC sends tensors of the CPU only: move them there before a call. PyTorch has device_maps"
            )
        self.num_worker_threads = num_worker_threads


def seconds_of(timeout: Any) -> float:
    """A timeout in seconds, from a number or a timedelta."""
    if isinstance(timeout, timedelta):
        return timeout.total_seconds()
    if isinstance(timeout, bool) or not isinstance(timeout, int | float):
        raise TypeError(f"a timeout is a number of seconds or a timedelta, but got {timeout!r}")
    return float(timeout)
