"""torch's functions: who is there, and call them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from datetime import timedelta
from typing import Any, Final, TypeVar

from minitorch_dist.distributed.codec import Writer
from minitorch_dist.distributed.rpc import functions, operations
from minitorch_dist.distributed.rpc.agent import current
from minitorch_dist.distributed.rpc.beginning import init_rpc as init_rpc
from minitorch_dist.distributed.rpc.calls import RpcFuture
from minitorch_dist.distributed.rpc.constants import UNSET_RPC_TIMEOUT
from minitorch_dist.distributed.rpc.ending import shutdown as shutdown
from minitorch_dist.distributed.rpc.gatherings import (
    _all_gather as _all_gather,
    _barrier as _barrier,
)
from minitorch_dist.distributed.rpc.looking import (
    _get_current_rpc_agent as _get_current_rpc_agent,
    _is_current_rpc_agent_set as _is_current_rpc_agent_set,
)
from minitorch_dist.distributed.rpc.options import seconds_of
from minitorch_dist.distributed.rpc.workers import WorkerInfo
from minitorch_dist.futures import Future, wait_all

T = TypeVar("T")
_awaited: Final[ContextVar[list[Future[Any]] | None]] = ContextVar("awaited", default=None)


def is_available() -> bool:
    return True


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
    return noted(_call(to, func, args, kwargs, timeout))


def rpc_sync(
    to: str | int | WorkerInfo,
    func: Callable[..., Any],
    args: Sequence[Any] | None = None,
    kwargs: Mapping[str, Any] | None = None,
    timeout: float | timedelta = UNSET_RPC_TIMEOUT,
) -> Any:
    """What `func(*args, **kwargs)` returns on a worker, or the exception that it raises there."""
    return _call(to, func, args, kwargs, timeout).wait()


def _call(
    to: Any, func: Callable[..., Any], args: Sequence[Any] | None,
    kwargs: Mapping[str, Any] | None, timeout: float | timedelta,
) -> RpcFuture[Any]:  # fmt: skip
    agent = current()
    worker, name = agent.workers.find(to), functions.name_of(func)
    write = request(func, args, kwargs)
    return agent.call(worker, operations.CALL, write, name, seconds_of(timeout))


@contextmanager
def _wait_all() -> Iterator[None]:
    """At its end, wait for all that this thread has asked for asynchronously within the block."""
    futures: list[Future[Any]] = []
    token = _awaited.set(futures)
    try:
        yield
    finally:
        _awaited.reset(token)
        wait_all(futures)


def noted(future: RpcFuture[T]) -> RpcFuture[T]:
    """A future that the user gets; `_wait_all` waits for it."""
    if (futures := _awaited.get()) is not None:
        futures.append(future)
    return future


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
