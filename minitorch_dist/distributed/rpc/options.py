"""The options of RPC, with torch's names."""

from __future__ import annotations

from datetime import timedelta
from enum import Enum, auto
from typing import Any

from minitorch_dist.distributed.rpc.call import seconds_of
from minitorch_dist.inventory.not_offered import tells_what_is_gone


class BackendType(Enum):
    """torch's names of the one backend that there is. The second one is that of torch before 1.8."""

    TENSORPIPE = auto()
    PROCESS_GROUP = auto()


@tells_what_is_gone
class TensorPipeRpcBackendOptions:
    """The options of RPC.

    `num_worker_threads` functions run at once. A function that waits for an answer does not count, so calls
    may nest to any depth. `_transports` and `_channels` say nothing here: the transport is the one under which
    the world was launched, else tcp. An `rpc_timeout` of 0 waits without end.
    """

    def __init__(
        self,
        *,
        num_worker_threads: int = 16,
        rpc_timeout: float | timedelta = 60.0,
        init_method: str = "env://",
        device_maps: Any = None,
        devices: Any = None,
        _transports: Any = None,
        _channels: Any = None,
    ) -> None:
        if num_worker_threads < 1:
            raise ValueError(f"num_worker_threads must be positive, but got {num_worker_threads}")
        if device_maps or devices:
            raise NotImplementedError(
                "RPC sends tensors of the CPU only: move them there before a call. PyTorch has device_maps"
            )
        self.num_worker_threads, self.init_method = num_worker_threads, init_method
        self.rpc_timeout = seconds_of(rpc_timeout)
