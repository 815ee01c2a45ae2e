"""torch's functions: call functions of other workers, and gather an object from each of them.

    all workers ──(GATHER, names, number, object)──► the worker with the smallest name
                ◄── {name: object} ───────────────── as soon as all have come

Workers that gather among the same names count how often they do, so two gatherings never mix. torch hides
`_all_gather` and `_barrier` behind an underscore, but libraries use them (PyTorch Geometric's loaders, for one).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from datetime import timedelta
from typing import Any, Final, TypeVar

from minitorch_dist.distributed.codec import Unsendable
from minitorch_dist.distributed.exceptions import RpcTimeout, WorkerLost
from minitorch_dist.distributed.rpc import functions, serve
from minitorch_dist.distributed.rpc.agent import (
    RpcAgent,
    _get_current_rpc_agent as _get_current_rpc_agent,
    _is_current_rpc_agent_set as _is_current_rpc_agent_set,
    current,
)
from minitorch_dist.distributed.rpc.call import RpcFuture
from minitorch_dist.distributed.rpc.constants import DEFAULT_SHUTDOWN_TIMEOUT, UNSET_RPC_TIMEOUT
from minitorch_dist.distributed.rpc.init import init_rpc as init_rpc
from minitorch_dist.distributed.rpc.members import WorkerInfo
from minitorch_dist.distributed.rpc.options import seconds_of
from minitorch_dist.distributed.rpc.serve import Later
from minitorch_dist.distributed.rpc.shutdown import shutdown as leave
from minitorch_dist.futures import Future, wait_all

T = TypeVar("T")
_awaited: Final[ContextVar[list[Future[Any]] | None]] = ContextVar("awaited", default=None)


_ignore_rref_leak = True  # torch's switch: without it `shutdown` raises what it else only warns of


def shutdown(graceful: bool = True, timeout: float = DEFAULT_SHUTDOWN_TIMEOUT) -> None:
    """Leave: when all work is done everywhere, or (without `graceful`) at once. See `rpc.shutdown`."""
    leave(graceful, timeout, _ignore_rref_leak)


def is_available() -> bool:
    return True


def get_worker_info(worker_name: str | None = None) -> WorkerInfo:
    """The worker with this name. Without a name it is this worker itself."""
    agent = current()
    return agent.me if worker_name is None else agent.workers.find(worker_name)


def _get_worker_infos() -> list[WorkerInfo]:
    return list(current().workers.by_id.values())


def get_rpc_timeout() -> float:
    """The seconds that a call may take if it is given no others."""
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
    """Call `func(*args, **kwargs)` on a worker. It returns the Future of the result at once.

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
    """Call `func(*args, **kwargs)` on a worker, and return what it returns or raise what it raises."""
    return _call(to, func, args, kwargs, timeout).wait()


def _call(
    to: Any, func: Callable[..., Any], args: Sequence[Any] | None,
    kwargs: Mapping[str, Any] | None, timeout: float | timedelta,
) -> RpcFuture[Any]:  # fmt: skip
    agent, asked = current(), request(func, args, kwargs)
    worker = (agent.workers.by_name.get(to) if type(to) is str else None) or agent.workers.find(to)
    seconds = timeout if type(timeout) is float else seconds_of(timeout)
    try:
        return agent.call(worker, serve.CALL, asked, func, seconds)
    except Unsendable as error:
        raise in_words(error, asked) from None


@contextmanager
def _wait_all() -> Iterator[None]:
    """Wait, at the end of the block, for all asynchronous calls that this thread made in it."""
    futures: list[Future[Any]] = []
    token = _awaited.set(futures)
    try:
        yield
    finally:
        _awaited.reset(token)
        wait_all(futures)


def noted(future: RpcFuture[T]) -> RpcFuture[T]:
    """Note a future that the user gets, so that `_wait_all` waits for it."""
    if (futures := _awaited.get()) is not None:
        futures.append(future)
    return future


def request(
    func: Callable[..., Any], args: Sequence[Any] | None, kwargs: Mapping[str, Any] | None
) -> tuple[Any, ...]:
    """The function, its arguments and its keywords: a CALL asks for them."""
    if not callable(func):
        raise TypeError("function should be callable.")
    return func, tuple(args or ()), dict(kwargs or {})


def in_words(error: Unsendable, asked: tuple[Any, ...], within: str = "") -> Unsendable:
    """The error about a part of a request: it names the function or the argument, and not the place in a tuple.

    `within` is the place of `asked` in what was written. Its last two parts are `args` and `kwargs`.
    """
    count = len(asked)
    names = {count - 2: "args", count - 1: "kwargs", 0: functions.name_of(asked[0])}
    for place, name in names.items():
        start = f"{within}[{place}]"
        if error.where.startswith(start):
            error.where = name + error.where.removeprefix(start)
            break
    return error


# ------------------------------------------------------------------------------------- gathering

PATIENCE: Final = 5.0  # seconds for the answer to "which workers are missing?"
Which = tuple[tuple[str, ...], int]  # the names, and how often these have gathered before


class Gatherings:
    """The gatherings of one worker: those that it came to, and those that it keeps for all."""

    def __init__(self, agent: RpcAgent) -> None:
        self._agent = agent
        self.visits: Counter[tuple[str, ...]] = Counter()
        self._open: dict[Which, tuple[dict[str, Any], RpcFuture[Any]]] = {}
        agent.when_lost.append(self._lost)

    def come(self, which: Which, name: str, given: Any) -> RpcFuture[Any]:
        """A worker has come with its object. The result is the future of all objects."""
        for worker, reason in self._agent.lost_workers.items():
            if self._agent.worker(worker).name in which[0]:
                raise self._without(worker, reason, which)
        if which not in self._open:
            future: RpcFuture[Any] = RpcFuture(self._agent.pool, lambda: f"the workers {which[0]}")
            self._open[which] = {}, future
        objects, future = self._open[which]
        objects[name] = given
        if len(objects) == len(which[0]):
            del self._open[which]
            future.set_result({name: objects[name] for name in which[0]})
        return future

    def missing(self, which: Which) -> list[str]:
        here = self._open[which][0] if which in self._open else ()
        return [name for name in which[0] if name not in here]

    def _lost(self, worker: int, reason: str) -> None:
        name = self._agent.worker(worker).name
        for which in [which for which in self._open if name in which[0]]:
            _, future = self._open.pop(which)
            future.set_exception(self._without(worker, reason, which))

    def _without(self, worker: int, reason: str, which: Which) -> WorkerLost:
        name = self._agent.worker(worker).name
        doing = f"was worker {name!r}, and {', '.join(which[0])} wait for each other"
        return WorkerLost(worker, reason, doing)

    def __repr__(self) -> str:
        return f"<Gatherings of {self._agent.me.name!r}, {len(self._open)} are not complete>"


def _all_gather(
    obj: Any,
    worker_names: Iterable[str] | None = None,
    timeout: float | timedelta = UNSET_RPC_TIMEOUT,
) -> dict[str, Any]:
    """The objects of all workers, or of the named ones, by name. All of them have to call this.

    Without a timeout, or with 0, it waits for the others however long they take.
    """
    agent, seconds = current(), max(0.0, seconds_of(timeout))
    names = tuple(sorted(set(worker_names or agent.workers.by_name)))
    if agent.me.name not in names:
        raise ValueError(f"{agent.me.name!r} gathers with {', '.join(names)}, and is none of them")
    ours, leader = agent.part(Gatherings), agent.workers.find(names[0])
    for name in names:
        agent.workers.find(name)
    which = names, ours.visits[names]
    ours.visits[names] += 1
    future = agent.call(leader, serve.GATHER, (which, obj), "_all_gather", seconds)
    try:
        return dict(future.wait())
    except RpcTimeout:
        raise RpcTimeout(
            f"_all_gather of {', '.join(names)}: {agent.me.name!r} waited {seconds:g} s{agent.clock.of_time} for "
            f"{_missing(agent, which)}. Do all of them call it, with the same names?"
        ) from None


def _barrier(worker_names: Iterable[str]) -> None:
    """Wait until all named workers have called this. This worker is one of them."""
    _all_gather(None, worker_names)


def _missing(agent: RpcAgent, which: Which) -> str:
    leader = agent.workers.find(which[0][0])
    try:
        found = agent.ask(leader, serve.ABSENT, which, "_all_gather", PATIENCE).wait()
    except RuntimeError:
        return f"{leader.name!r}, which does not answer"
    return ", ".join(found)


def _gather(agent: RpcAgent, src: int, asked: Any) -> tuple[str, Callable[[], Any]]:
    which, given = asked
    name = agent.worker(src).name
    return "_all_gather", lambda: Later(agent.part(Gatherings).come(which, name, given))


def _absent(agent: RpcAgent, src: int, which: Any) -> list[str]:
    return agent.part(Gatherings).missing(which)


serve.let_run(serve.GATHER, _gather)
serve.let_handle(serve.ABSENT, _absent)
