"""`init_rpc`: a worker meets the others and takes part.

a world of known size     all workers tell each other their names through the store, and begin together
a world without a size    workers join one by one (`join`)
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from contextlib import suppress
from datetime import timedelta
from typing import Any, Final

from minitorch_dist.distributed import backends, bootstrap, rendezvous, slow_start, world
from minitorch_dist.distributed.exceptions import DistError
from minitorch_dist.distributed.rpc import backend_registry
from minitorch_dist.distributed.rpc.agent import RpcAgent, is_here
from minitorch_dist.distributed.rpc.join import Membership, new_transport
from minitorch_dist.distributed.rpc.members import (
    DeviceNames,
    WorkerInfo,
    WorkerTable,
    check_name,
)
from minitorch_dist.distributed.rpc.options import (
    RpcBackendOptions,
    TensorPipeRpcBackendOptions,
)
from minitorch_dist.distributed.rpc.shutdown import leave_behind
from transports.contract import Transport
from transports.stores.store import PrefixStore, Store

CONNECT: Final = timedelta(minutes=30)
PIPES: Final = ("uv", "shm", "ibv")  # TensorPipe's own transports; they say nothing about ours


def init_rpc(
    name: str,
    backend: Any = None,
    rank: int = -1,
    world_size: int | None = None,
    rpc_backend_options: RpcBackendOptions | None = None,
) -> None:
    """Take part as worker `name`. It returns when all workers can be called.

    The store is that of the options' init_method (`env://`). The transport is the one under which this
    world was launched, else tcp.

    Without a world_size (it is 0, or it is not given and there is no WORLD_SIZE) workers join one by one
    and leave while others go on. Then it returns when the workers that joined before can be called.
    """
    check_name(name)
    if backend is None:
        backend = backend_registry.BackendType.TENSORPIPE
    kind = getattr(backend, "value", None)
    if not isinstance(kind, backend_registry.BackendValue):
        raise TypeError(f"Argument backend must be a member of BackendType, but got {backend!r}")
    options = rpc_backend_options
    if options is None:
        options = backend_registry.construct_rpc_backend_options(backend)
    if not isinstance(options, RpcBackendOptions):
        raise TypeError(
            f"`rpc_backend_options` must be a TensorPipeRpcBackendOptions, got {options!r}"
        )
    if is_here():
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
            agent = kind.init_backend_handler(
                store=store, name=name, rank=rank, world_size=size, rpc_backend_options=options
            )
        finally:
            if agent is None and is_ours:
                store.close()
    if is_ours:
        agent.own_store = store
    here.at_end.append(leave_behind)
    here.interrupts.append(agent.transport.close)


def _meet(init_method: str, rank: int, size: int | None) -> tuple[Store, int, int, bool]:
    """The store, our rank, the world's size (0: it has none), and whether we have to close the store."""
    given = world.place().given
    if "store" in given and init_method == "env://":
        store = given["store"]
        rank = given["rank"] if rank < 0 else rank
        size = given["world_size"] if size is None else size
        return store, rank, size, False
    if init_method == "env://":
        rank = int(os.environ.get("RANK", -1)) if rank < 0 else rank
        size = int(os.environ.get("WORLD_SIZE") or 0) if size is None else size
    found = next(rendezvous.rendezvous(init_method, rank, size or 0, timeout=CONNECT))
    found[0].set_timeout(CONNECT)
    return *found, True


def connect(
    store: Store, name: str, rank: int, world_size: int, rpc_backend_options: RpcBackendOptions,
    agent_of: Callable[..., RpcAgent] = RpcAgent,
) -> RpcAgent:  # fmt: skip
    """The agent of a new worker. `agent_of` makes it from a transport, our name, the threads and the timeout."""
    here, size, options = world.place(), world_size, rpc_backend_options
    if size and not 0 <= rank < size:
        raise RuntimeError(f"rank {rank} is not in a world of {size} workers")
    kind, address = _medium(options, here.given.get("address", "tcp"))
    address = address or here.given.get("address", "")
    root = PrefixStore("rpc", store)
    if size:
        transport = kind(rank, size, address, here.clock)
    else:
        transport = new_transport(kind, rank, address, here.clock)
    make: Callable[[Any], Any] = here.given.get("wrap_rpc", lambda inner: inner)
    transport = make(transport)
    timeout = options.rpc_timeout
    transport.patience = timeout if timeout > 0 else None
    threads = getattr(options, "num_worker_threads", 16)
    agent = agent_of(transport, WorkerInfo(name, rank), threads, timeout)
    maps = getattr(options, "device_maps", {})
    said = {to: {str(k): str(v) for k, v in there.items()} for to, there in maps.items()}
    if size:
        _come_together(agent, root, size, said)
    else:
        _join(agent, PrefixStore("growing", root), said)
    return agent


def _medium(options: RpcBackendOptions, default: str) -> tuple[Callable[..., Transport], str]:
    """The kind of transport and its address: those that the options name, else those of this world."""
    named = [name for name in getattr(options, "_transports", None) or () if name not in PIPES]
    try:
        return backends.transport_for(named[0] if named else "undefined", default)
    except AssertionError:
        raise RuntimeError(
            f"Unknown transport: {named[0]}. Here there are tcp, file, mqtt, mpi, and queue and sim for "
            f"workers that are threads; torch's own ({', '.join(PIPES)}) mean that of this world"
        ) from None


def _come_together(
    agent: RpcAgent, root: Store, size: int, maps: dict[str, dict[str, str]]
) -> None:  # fmt: skip
    """Meet all workers of a world of known size, and take part."""
    me, transport = agent.me, agent.transport
    generation = bootstrap.arrive(root, me.id, size, bootstrap.who(transport, me.id, size))
    keys = PrefixStore(f"rpc_prefix_{generation}", root)
    try:
        transport.connect(keys, agent, CONNECT.total_seconds())
        keys.set(f"worker/{me.id}", json.dumps([me.name, maps]))
        cards = [json.loads(keys.get(f"worker/{other}")) for other in range(size)]
        workers = WorkerTable(WorkerInfo(card[0], other) for other, card in enumerate(cards))
        agent.names = DeviceNames(me, maps)
        for other, card in enumerate(cards):
            agent.names.note(workers.find(other), card[1])
        for to in maps:
            workers.find(to)  # it has to be there
    except BaseException:
        transport.close()
        with suppress(DistError, OSError):
            bootstrap.depart(root, me.id, str(generation), size)
        raise
    agent.sign_off = lambda: bootstrap.depart(root, me.id, str(generation), size)
    world.place().rpc_agent = agent  # before the first request: its function may make calls
    agent.begin(workers)


def _join(agent: RpcAgent, store: Store, maps: dict[str, dict[str, str]]) -> None:
    """Join the workers that are there already, and take part."""
    membership = Membership(agent, agent.transport, store)
    here = world.place()
    try:
        workers = membership.join(maps)
        agent.say_goodbye, agent.sign_off = membership.say_goodbye, membership.strike
        here.rpc_agent = agent
        agent.begin(workers)
        membership.greet()
    except BaseException:
        here.rpc_agent = None
        membership.strike()
        agent.close(patience=5.0)
        raise


def _options(
    rpc_timeout: float | timedelta, init_method: str, **more: Any
) -> TensorPipeRpcBackendOptions:
    return TensorPipeRpcBackendOptions(rpc_timeout=rpc_timeout, init_method=init_method, **more)


backend_registry.register_backend("TENSORPIPE", _options, connect)
# the name in texts for torch before 1.8; it means the same
backend_registry.register_backend("PROCESS_GROUP", _options, connect)
