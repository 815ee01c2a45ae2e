"""torch's functions: begin, call, end."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from datetime import timedelta
from typing import Any, Final

from minitorch_dist.distributed import backends, bootstrap, rendezvous, world
from minitorch_dist.distributed.codec import Writer
from minitorch_dist.distributed.exceptions import DistError
from minitorch_dist.distributed.rpc import functions, joining, operations
from minitorch_dist.distributed.rpc.agent import KEY, Agent, current, is_here
from minitorch_dist.distributed.rpc.calls import RpcFuture
from minitorch_dist.distributed.rpc.crew import runs_job
from minitorch_dist.distributed.rpc.ending import Ending
from minitorch_dist.distributed.rpc.options import (
    DEFAULT_SHUTDOWN_TIMEOUT,
    UNSET_RPC_TIMEOUT,
    BackendType,
    RpcBackendOptions,
    TensorPipeRpcBackendOptions,
    seconds_of,
)
from minitorch_dist.distributed.rpc.workers import WorkerInfo, Workers, check_name
from minitorch_dist.distributed.rpc.writing import DeviceNames
from transports.stores.store import PrefixStore, Store

CONNECT: Final = timedelta(minutes=30)


def is_available() -> bool:
    return True


# ------------------------------------------------------------------------------------------ begin


def init_rpc(
    name: str,
    backend: BackendType | None = None,
    rank: int = -1,
    world_size: int | None = None,
    rpc_backend_options: RpcBackendOptions | None = None,
) -> None:
    """Take part as worker `name`; returns when all workers can be called.

    The store is that of the options' init_method (`env://`); the transport is the one under which
    this world was launched, else tcp.

    Without a world_size (none is given, and there is no WORLD_SIZE; or 0) workers join one by one and
    leave while others go on: then it returns when those who have joined before can be called.
    """
    check_name(name)
    if backend is not None and not isinstance(backend, BackendType):
        raise TypeError(f"Argument backend must be a member of BackendType, but got {backend!r}")
    options = TensorPipeRpcBackendOptions() if rpc_backend_options is None else rpc_backend_options
    if not isinstance(options, RpcBackendOptions):
        raise TypeError(
            f"`rpc_backend_options` must be a TensorPipeRpcBackendOptions, got {options!r}"
        )
    if is_here():
        raise RuntimeError("RPC is already initialized")
    here = world.place()
    store, rank, size, is_ours = _meet(options.init_method, rank, world_size)
    agent = None
    try:
        agent = _connect(name, store, rank, size, options)
    finally:
        if agent is None and is_ours:
            store.close()
    if is_ours:
        agent.extras["store"] = store
    here.at_end.append(_leave_behind)
    here.interrupts.append(agent.transport.close)


def _meet(init_method: str, rank: int, size: int | None) -> tuple[Store, int, int, bool]:
    """The store, who we are, and whether the store is to be closed by us. Size 0: there is none."""
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


def _connect(name: str, store: Store, rank: int, size: int, options: RpcBackendOptions) -> Agent:
    here = world.place()
    if size and not 0 <= rank < size:
        raise RuntimeError(f"rank {rank} is not in a world of {size} workers")
    wanted = (getattr(options, "_transports", None) or ["undefined"])[0]
    kind, address = backends.transport_for(wanted, here.given.get("address", "tcp"))
    address = address or here.given.get("address", "")
    root = PrefixStore("rpc", store)
    if size:
        transport = kind(rank, size, address, here.clock)
    else:
        transport = joining.new_transport(kind, rank, address, here.clock)
    make: Callable[[Any], Any] = here.given.get("wrap_rpc", lambda inner: inner)
    transport = make(transport)
    timeout = options.rpc_timeout
    transport.patience = timeout if timeout > 0 else None
    threads = getattr(options, "num_worker_threads", 16)
    agent = Agent(transport, WorkerInfo(name, rank), threads, timeout)
    maps = getattr(options, "device_maps", {})
    said = {to: {str(k): str(v) for k, v in there.items()} for to, there in maps.items()}
    if size:
        _come_together(agent, root, size, said)
    else:
        _join(agent, PrefixStore("growing", root), said)
    return agent


def _come_together(
    agent: Agent, root: Store, size: int, maps: dict[str, dict[str, str]]
) -> None:  # fmt: skip
    """All workers of a world meet, and take part."""
    me, transport = agent.me, agent.transport
    generation = bootstrap.arrive(root, me.id, size)
    keys = PrefixStore(f"rpc_prefix_{generation}", root)
    try:
        transport.connect(keys, agent, CONNECT.total_seconds())
        keys.set(f"worker/{me.id}", json.dumps([me.name, maps]))
        cards = [json.loads(keys.get(f"worker/{other}")) for other in range(size)]
        workers = Workers(WorkerInfo(card[0], other) for other, card in enumerate(cards))
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
    agent.extras["left"] = lambda: bootstrap.depart(root, me.id, str(generation), size)
    world.place().extras[KEY] = agent  # before anybody is served: what he calls may call others
    agent.begin(workers)


def _join(agent: Agent, store: Store, maps: dict[str, dict[str, str]]) -> None:
    """Come to those who are there already."""
    membership = joining.Membership(agent, agent.transport, store)
    extras = world.place().extras
    try:
        workers = membership.join(maps)
        agent.extras[joining.KEY], agent.extras["left"] = membership, membership.strike
        extras[KEY] = agent
        agent.begin(workers)
        membership.greet()
    except BaseException:
        extras.pop(KEY, None)
        membership.strike()
        agent.close(patience=5.0)
        raise


# -------------------------------------------------------------------------------------------- end


def shutdown(graceful: bool = True, timeout: float = DEFAULT_SHUTDOWN_TIMEOUT) -> None:
    """Leave. Gracefully: when all workers have come and all work is done everywhere, in at most
    `timeout` seconds (0: however long it takes); else at once, and calls under way fail.

    Where workers join one by one, they leave so as well: only our own work has to be done."""
    agent = current()
    if runs_job():
        raise RuntimeError(
            "rpc.shutdown was called by a function that runs for a peer: it would wait for itself. "
            "Call it in the worker's own program"
        )
    try:
        if graceful:
            ending = Ending(agent, timeout if timeout > 0 else None)
            membership = agent.extras.get(joining.KEY)
            if membership is None:
                ending.wait_for_all_work()
            else:
                ending.wait_for_own_work()
            for last in agent.extras.get("before_end", ()):
                last()
            if membership is None:
                ending.wait_for_all()
            else:
                membership.part()
                ending.wait_for_own_work()  # what was asked before they knew
            for look in agent.extras.get("after_end", ()):
                look()
            ending.linger()
    finally:
        _leave(agent)


def _leave(agent: Agent) -> None:
    here = world.place()
    here.extras.pop(KEY, None)
    if _leave_behind in here.at_end:
        here.at_end.remove(_leave_behind)
        here.interrupts.remove(agent.transport.close)
    agent.close(patience=5.0)
    with suppress(DistError, OSError):  # the store's master may have left first
        agent.extras["left"]()
    store = agent.extras.get("store")
    if store is not None:
        store.close()


def _leave_behind() -> None:
    """Our rank is over, and did not shut RPC down."""
    agent = world.place().extras.get(KEY)
    if agent is not None:
        _leave(agent)


# ------------------------------------------------------------------------------------------- call


def get_worker_info(worker_name: str | None = None) -> WorkerInfo:
    """A worker by its name; without one, ourselves."""
    agent = current()
    return agent.me if worker_name is None else agent.workers.find(worker_name)


def _get_worker_infos() -> list[WorkerInfo]:
    return list(current().workers.by_id.values())


def get_rpc_timeout() -> float:
    """Seconds that calls may take unless they are given others."""
    return current().timeout


def _set_rpc_timeout(timeout: float | timedelta) -> None:
    current().timeout = seconds_of(timeout)


def rpc_async(
    to: str | int | WorkerInfo,
    func: Callable[..., Any],
    args: Sequence[Any] | None = None,
    kwargs: Mapping[str, Any] | None = None,
    timeout: float | timedelta = UNSET_RPC_TIMEOUT,
) -> RpcFuture[Any]:
    """Call `func(*args, **kwargs)` on a worker; the Future of its result.

    The arguments are read now: they may be written to when this returns.
    """
    agent = current()
    worker = agent.workers.find(to)
    write = request(func, args, kwargs)
    return agent.call(worker, operations.CALL, write, functions.name_of(func), seconds_of(timeout))


def rpc_sync(
    to: str | int | WorkerInfo,
    func: Callable[..., Any],
    args: Sequence[Any] | None = None,
    kwargs: Mapping[str, Any] | None = None,
    timeout: float | timedelta = UNSET_RPC_TIMEOUT,
) -> Any:
    """What `func(*args, **kwargs)` returns on a worker, or the exception that it raises there."""
    return rpc_async(to, func, args, kwargs, timeout).wait()


def request(
    func: Callable[..., Any], args: Sequence[Any] | None, kwargs: Mapping[str, Any] | None
) -> Callable[[Writer], None]:
    """Writes (function, args, kwargs); errors name the argument."""
    if not callable(func):
        raise TypeError("function should be callable.")
    args, kwargs = tuple(args or ()), dict(kwargs or {})

    def write(writer: Writer) -> None:
        writer.begin(3)
        writer.named(functions.name_of(func), func)
        writer.named("args", args)
        writer.named("kwargs", kwargs)

    return write
