"""torch's functions: call functions of other workers, and leave."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeVar

from minitorch_dist.distributed.codec import Unsendable
from minitorch_dist.distributed.rpc import functions, serve
from minitorch_dist.distributed.rpc.agent import current
from minitorch_dist.distributed.rpc.call import UNSET_RPC_TIMEOUT, RpcFuture, Timeout
from minitorch_dist.distributed.rpc.init import init_rpc as init_rpc
from minitorch_dist.distributed.rpc.members import WorkerInfo
from minitorch_dist.distributed.rpc.shutdown import shutdown as shutdown

R = TypeVar("R")
Worker = str | int | WorkerInfo
Args = Sequence[Any] | None
Kwargs = Mapping[str, Any] | None


def is_available() -> bool:
    return True


def get_worker_info(worker_name: str | None = None) -> WorkerInfo:
    """The worker with this name.

    Args:
        worker_name: The name; None means this worker itself.

    Returns:
        Its WorkerInfo, with `name` and `id`.

    Example:
        >>> from minitorch_dist.distributed import rpc
        >>> def program():
        ...     rpc.init_rpc(f"worker{dist.get_rank()}")
        ...     number = rpc.get_worker_info("worker1").id
        ...     rpc.shutdown()
        ...     return number
        >>> sim.run(program, 2).results
        [1, 1]
    """
    agent = current()
    return agent.me if worker_name is None else agent.workers.find(worker_name)


def rpc_async(
    to: Worker, func: Callable[..., R], args: Args = None, kwargs: Kwargs = None, timeout: Timeout = UNSET_RPC_TIMEOUT
) -> RpcFuture[R]:
    """Call `func(*args, **kwargs)` on a worker, beside the caller.

    The arguments are read now: they may be written to when this returns.

    Args:
        to: The worker: its name, its number, or its WorkerInfo.
        func: The function, which the worker can import.
        args: Its positional arguments.
        kwargs: Its keyword arguments.
        timeout: The time limit in seconds; -1 is that of `init_rpc`.

    Returns:
        The Future of the result, at once.

    Example:
        >>> from minitorch_dist.distributed import rpc
        >>> def program():
        ...     rpc.init_rpc(f"worker{dist.get_rank()}")
        ...     answers = [rpc.rpc_async(f"worker{n}", pow, args=(2, n)) for n in range(2)]
        ...     found = [answer.wait() for answer in answers]
        ...     rpc.shutdown()
        ...     return found
        >>> sim.run(program, 2).results[0]
        [1, 2]
    """
    return _call(to, func, args, kwargs, timeout)


def rpc_sync(
    to: Worker, func: Callable[..., R], args: Args = None, kwargs: Kwargs = None, timeout: Timeout = UNSET_RPC_TIMEOUT
) -> R:
    """Call `func(*args, **kwargs)` on a worker, and return what it returns or raise what it raises.

    Args:
        to: The worker: its name, its number, or its WorkerInfo.
        func: The function, which the worker can import.
        args: Its positional arguments.
        kwargs: Its keyword arguments.
        timeout: The time limit in seconds; -1 is that of `init_rpc`.

    Returns:
        What the function returned there.

    Raises:
        RpcTimeout: The answer did not come in time.
        WorkerLost: The worker is gone.

    Example:
        >>> from minitorch_dist.distributed import rpc
        >>> def program():
        ...     rpc.init_rpc(f"worker{dist.get_rank()}")
        ...     total = rpc.rpc_sync("worker1", torch.add, args=(torch.ones(2), 1))
        ...     rpc.shutdown()
        ...     return total.tolist()
        >>> sim.run(program, 2).results[0]
        [2.0, 2.0]
    """
    return _call(to, func, args, kwargs, timeout).wait()


def _call(to: Any, func: Callable[..., R], args: Args, kwargs: Kwargs, timeout: Timeout) -> RpcFuture[R]:
    agent, asked = current(), request(func, args, kwargs)
    worker = (agent.workers.by_name.get(to) if type(to) is str else None) or agent.workers.find(to)
    try:
        return agent.call(worker, serve.CALL, asked, func, timeout)
    except Unsendable as error:
        raise in_words(error, asked) from None


def request(func: Callable[..., Any], args: Args, kwargs: Kwargs) -> tuple[Any, ...]:
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
