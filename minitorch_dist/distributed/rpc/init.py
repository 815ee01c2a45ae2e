"""`init_rpc`: all workers tell each other their names through the store, and begin together."""

from __future__ import annotations

import json
import os
from contextlib import suppress
from datetime import timedelta
from typing import Any, Final

from minitorch_dist.distributed import backends, bootstrap, rendezvous, slow_start, world
from minitorch_dist.distributed.exceptions import DistError
from minitorch_dist.distributed.rpc.agent import RpcAgent
from minitorch_dist.distributed.rpc.members import WorkerInfo, WorkerTable, check_name
from minitorch_dist.distributed.rpc.options import BackendType, TensorPipeRpcBackendOptions
from minitorch_dist.distributed.rpc.shutdown import leave_behind
from transports.stores.store import PrefixStore, Store

CONNECT: Final = timedelta(minutes=30)


def init_rpc(
    name: str,
    backend: Any = None,
    rank: int = -1,
    world_size: int | None = None,
    rpc_backend_options: TensorPipeRpcBackendOptions | None = None,
) -> None:
    """Take part as worker `name`. It returns when all workers can be called.

    The transport is the one under which this world was launched, else tcp.

    Args:
        name: The name of this worker, another one on each rank.
        backend: Accepted as in torch; there is one.
        rank: The number of this worker; -1 takes the launcher's.
        world_size: The number of workers; None takes the launcher's.
        rpc_backend_options: Timeout, threads, and the meeting place (`init_method`, by default `env://`).

    Raises:
        DistTimeout: A worker did not come in time; the error names it.

    Example:
        >>> from minitorch_dist.distributed import rpc
        >>> def program():
        ...     rpc.init_rpc(f"worker{dist.get_rank()}")
        ...     answer = rpc.rpc_sync("worker0", max, args=(3, 5))
        ...     rpc.shutdown()
        ...     return answer
        >>> sim.run(program, 2).results
        [5, 5]
    """
    check_name(name)
    if not isinstance(backend, BackendType | None):
        raise TypeError(f"Argument backend must be a member of BackendType, but got {backend!r}")
    options = rpc_backend_options or TensorPipeRpcBackendOptions()
    if not isinstance(options, TensorPipeRpcBackendOptions):
        raise TypeError(f"`rpc_backend_options` must be a TensorPipeRpcBackendOptions, got {options!r}")
    if world.place().rpc_agent is not None:
        raise RuntimeError("RPC is already initialized")
    for open_floor in world.before_rpc:
        open_floor()
    here = world.place()
    with slow_start.saying(f"init_rpc of {name!r}", here.clock) as word:
        word.what = lambda: slow_start.of_store(options.init_method)
        store, rank, size, is_ours = _meet(options.init_method, rank, world_size)
        word.what = lambda: slow_start.of_ranks(PrefixStore("rpc", store), size)
        agent = None
        try:
            agent = _connect(store, name, rank, size, options)
        finally:
            if agent is None and is_ours:
                store.close()
    if is_ours:
        agent.own_store = store
    here.at_end.append(leave_behind)
    here.interrupts.append(agent.transport.close)


def _meet(init_method: str, rank: int, size: int | None) -> tuple[Store, int, int, bool]:
    """The store, our rank, the world's size, and whether we have to close the store."""
    given = world.place().given
    if "store" in given and init_method == "env://":
        store = given["store"]
        rank = given["rank"] if rank < 0 else rank
        size = given["world_size"] if size is None else size
        return store, rank, size, False
    is_said = "world_size=" in init_method or (init_method == "env://" and os.environ.get("WORLD_SIZE"))
    if not (is_said if size is None else size):
        raise RuntimeError(
            "init_rpc has to know how many workers there are: pass world_size=…, or set WORLD_SIZE. Workers that join "
            "one by one are not offered; PyTorch has them"
        )
    found = rendezvous.rendezvous(init_method, rank, -1 if size is None else size, CONNECT)
    found[0].set_timeout(CONNECT)
    return *found, True


def _connect(store: Store, name: str, rank: int, size: int, options: TensorPipeRpcBackendOptions) -> RpcAgent:
    """The agent of a new worker, once it has met all others."""
    here = world.place()
    if not 0 <= rank < size:
        raise RuntimeError(f"rank {rank} is not in a world of {size} workers")
    kind, address = backends.transport_for("undefined", here.given.get("address", "tcp"))
    transport = kind(rank, size, address or here.given.get("address", ""), here.clock)
    if transport.may_lose:
        raise RuntimeError(f"RPC needs a transport that delivers each message once, and {transport!r} may lose some")
    timeout = options.rpc_timeout
    transport.patience = timeout if timeout > 0 else None
    agent = RpcAgent(transport, WorkerInfo(name, rank), options.num_worker_threads, timeout)
    root = PrefixStore("rpc", store)
    generation = bootstrap.arrive(root, rank, size, bootstrap.who(transport, rank, size))
    keys = PrefixStore(f"rpc_prefix_{generation}", root)
    try:
        transport.connect(keys, agent, CONNECT.total_seconds())
        keys.set(f"worker/{rank}", json.dumps([name]))
        names = [json.loads(keys.get(f"worker/{other}"))[0] for other in range(size)]
        workers = WorkerTable(WorkerInfo(name, other) for other, name in enumerate(names))
    except BaseException:
        transport.close()
        with suppress(DistError, OSError):
            bootstrap.depart(root, rank, str(generation), size)
        raise
    agent.sign_off = lambda: bootstrap.depart(root, rank, str(generation), size)
    here.rpc_agent = agent  # before the first request: its function may make calls
    agent.begin(workers)
    return agent
