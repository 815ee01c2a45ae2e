"""Python's `multiprocessing` and torch's additions: `spawn`, `start_processes`.

Tensors travel between processes by value: a pipe carries the array's bytes. torch shares the memory of all that it sends.
So torch's choice of a way to share has no effect here.
"""

from __future__ import annotations

from multiprocessing import (
    Array as Array,
    AuthenticationError as AuthenticationError,
    Barrier as Barrier,
    BoundedSemaphore as BoundedSemaphore,
    BufferTooShort as BufferTooShort,
    Condition as Condition,
    Event as Event,
    JoinableQueue as JoinableQueue,
    Lock as Lock,
    Manager as Manager,
    Pipe as Pipe,
    Pool as Pool,
    Process as Process,
    ProcessError as ProcessError,
    Queue as Queue,
    RawArray as RawArray,
    RawValue as RawValue,
    RLock as RLock,
    Semaphore as Semaphore,
    SimpleQueue as SimpleQueue,
    TimeoutError as TimeoutError,
    Value as Value,
    active_children as active_children,
    cpu_count as cpu_count,
    current_process as current_process,
    freeze_support as freeze_support,
    get_all_start_methods as get_all_start_methods,
    get_context as get_context,
    get_logger as get_logger,
    get_start_method as get_start_method,
    log_to_stderr as log_to_stderr,
    parent_process as parent_process,
    set_executable as set_executable,
    set_forkserver_preload as set_forkserver_preload,
    set_start_method as set_start_method,
)

from minitorch_dist.multiprocessing.spawn import (
    ProcessContext as ProcessContext,
    ProcessException as ProcessException,
    ProcessExitedException as ProcessExitedException,
    ProcessRaisedException as ProcessRaisedException,
    SpawnContext as SpawnContext,
    spawn as spawn,
    start_processes as start_processes,
)

_strategy = "file_descriptor"


def get_all_sharing_strategies() -> set[str]:
    """torch's names."""
    return {"file_descriptor", "file_system"}


def get_sharing_strategy() -> str:
    return _strategy


def set_sharing_strategy(new_strategy: str) -> None:
    """Accepted, and without effect: see above."""
    global _strategy
    if new_strategy not in get_all_sharing_strategies():
        raise AssertionError(f"no such sharing strategy: {new_strategy!r}")
    _strategy = new_strategy
