"""torch's list of the backends of RPC: how each makes its options, and how it makes a worker's agent.

`init` enters TENSORPIPE, and `_testing` enters FAULTY_TENSORPIPE. As in torch, the enumeration `BackendType` of this
module is a new one whenever a backend is registered.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from enum import Enum
from typing import Any, NamedTuple

from minitorch_dist.distributed.rpc.agent import RpcAgent
from minitorch_dist.distributed.rpc.constants import DEFAULT_INIT_METHOD, DEFAULT_RPC_TIMEOUT_SEC
from minitorch_dist.distributed.rpc.options import RpcBackendOptions


class BackendValue(NamedTuple):
    """The two functions of a backend.

    The first one takes a timeout, an init_method and its own keywords. The second one takes store, name, rank, world_size
    and rpc_backend_options.
    """

    construct_rpc_backend_options_handler: Callable[..., RpcBackendOptions]
    init_backend_handler: Callable[..., RpcAgent]


class _Backends(Enum):
    def __repr__(self) -> str:
        return f"BackendType.{self.name}"


def _listing(backends: dict[str, BackendValue]) -> Any:
    kind: Any = _Backends
    return kind("BackendType", backends)


BackendType: Any = _listing({})


def backend_registered(backend_name: str) -> bool:
    return backend_name in BackendType.__members__


def register_backend(
    backend_name: str,
    construct_rpc_backend_options_handler: Callable[..., RpcBackendOptions],
    init_backend_handler: Callable[..., RpcAgent],
) -> Any:
    """Enter a backend. The result is its member of `BackendType`."""
    global BackendType
    if backend_registered(backend_name):
        raise RuntimeError(f"RPC backend {backend_name}: already registered")
    new = BackendValue(construct_rpc_backend_options_handler, init_backend_handler)
    known = {name: member.value for name, member in BackendType.__members__.items()}
    BackendType = _listing({backend_name: new, **known})
    return BackendType[backend_name]


def construct_rpc_backend_options(
    backend: Any,
    rpc_timeout: float | timedelta = DEFAULT_RPC_TIMEOUT_SEC,
    init_method: str = DEFAULT_INIT_METHOD,
    **kwargs: Any,
) -> Any:
    return backend.value.construct_rpc_backend_options_handler(rpc_timeout, init_method, **kwargs)


def init_backend(backend: Any, *args: Any, **kwargs: Any) -> RpcAgent:
    agent: RpcAgent = backend.value.init_backend_handler(*args, **kwargs)
    return agent
