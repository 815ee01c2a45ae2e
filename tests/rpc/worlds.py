"""Worlds of workers for the tests, and the functions that they call on each other."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import minitorch_dist as mtd
from minitorch_dist.distributed import rpc, world
from minitorch_dist.distributed.rpc.agent import current

THREADS = ("queue://", "sim://")


class Refused(ValueError):
    def __init__(self, who: str, when: int) -> None:
        super().__init__(f"{who} 中文")
        self.who, self.when = who, when


def me() -> int:
    return rpc.get_worker_info().id


def name() -> str:
    return rpc.get_worker_info().name


def add(a: Any, b: Any = 1) -> Any:
    return a + b


def same(x: Any) -> Any:
    return x


def refuse(who: str) -> None:
    raise Refused(who, 3)


def fibonacci(n: int) -> int:
    """Calls that nest, and run in circles through all workers."""
    if n < 2:
        return n
    size = len(current().workers.by_id)
    right = f"w{(me() + 1) % size}"
    first = rpc.rpc_async(right, fibonacci, (n - 1,))
    return int(rpc.rpc_sync(right, fibonacci, (n - 2,)) + first.wait())


def there_and_back(depth: int) -> int:
    """As deep as asked for, between two workers."""
    if depth == 0:
        return 0
    return 1 + int(rpc.rpc_sync((me() + 1) % len(current().workers.by_id), there_and_back, (depth - 1,)))


@rpc.functions.async_execution
def add_later(to: str, x: Any, y: Any, z: Any) -> Any:
    return rpc.rpc_async(to, add, (x, y)).then(lambda future: future.wait() + z)


@rpc.functions.async_execution
def no_future() -> int:
    return 3


class Tools:
    @staticmethod
    @rpc.functions.async_execution
    def below(to: str, x: Any) -> Any:
        return rpc.rpc_async(to, add, (x, 1))

    @rpc.functions.async_execution
    @staticmethod
    def above(to: str, x: Any) -> Any:
        return rpc.rpc_async(to, add, (x, 1))

    @classmethod
    @rpc.functions.async_execution
    def of_class(cls, to: str, x: Any) -> Any:
        assert cls is Tools
        return rpc.rpc_async(to, add, (x, 1))


def run(
    program: Callable[[int], Any],
    size: int,
    transport: str = "queue://",
    threads: int = 4,
    timeout: float = 60.0,
    shut: Callable[[], None] = rpc.shutdown,
    **more: Any,
) -> list[Any]:
    """`program(rank)` on workers w0 … that begin and end together."""

    def worker() -> Any:
        rank = world.current().rank
        options = rpc.TensorPipeRpcBackendOptions(num_worker_threads=threads, rpc_timeout=timeout, **more)
        rpc.init_rpc(f"w{rank}", rpc_backend_options=options)
        result = program(rank)
        shut()
        return result

    return mtd.launch(worker, size, transport, timeout=100)
