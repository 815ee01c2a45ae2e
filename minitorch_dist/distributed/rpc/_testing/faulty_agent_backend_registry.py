"""FAULTY_TENSORPIPE, a backend of RPC. Importing this module enters it."""

from __future__ import annotations

from functools import partial
from typing import Any

from minitorch_dist.distributed.rpc import backend_registry, init
from minitorch_dist.distributed.rpc._testing.faults import (
    FaultyTensorPipeAgent,
    FaultyTensorPipeRpcBackendOptions,
)


def _options(
    rpc_timeout: float, init_method: str, num_worker_threads: int, messages_to_fail: list[str],
    messages_to_delay: dict[str, float], num_fail_sends: int, **ignored: Any,
) -> FaultyTensorPipeRpcBackendOptions:  # fmt: skip
    return FaultyTensorPipeRpcBackendOptions(
        num_worker_threads, rpc_timeout, init_method, messages_to_fail, messages_to_delay, num_fail_sends
    )  # fmt: skip


def _connect(rpc_backend_options: Any, **meeting: Any) -> FaultyTensorPipeAgent:
    if not isinstance(rpc_backend_options, FaultyTensorPipeRpcBackendOptions):
        raise TypeError(
            f"`rpc_backend_options` must be a `FaultyTensorPipeRpcBackendOptions`. {rpc_backend_options}"
        )
    rpc_backend_options.check()
    agent_of = partial(FaultyTensorPipeAgent, rpc_backend_options)
    agent = init.connect(rpc_backend_options=rpc_backend_options, agent_of=agent_of, **meeting)
    assert isinstance(agent, FaultyTensorPipeAgent)
    return agent


backend_registry.register_backend("FAULTY_TENSORPIPE", _options, _connect)
