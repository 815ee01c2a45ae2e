"""`launch`: run a function on every rank of a world, and get the results back.

    launch(train, 4)                               ranks are threads of this process
    launch(train, 4, "sim://")                     the same, in virtual time, over a network
    launch(train, 4, "tcp://", args=(model,))      ranks are processes of this host

The world stands before the function is called: `get_rank()` answers, and a script's own
`init_process_group(…)` takes over what is there. Every rank begins with a copy of the caller's
random generator; in virtual time, where nobody has seeded that, with one that follows the run's seed. The first rank that fails ends the others, and its exception is raised here.

    limit                       how long a whole run may take
    ranks                       one rank: make the world, call the function, end the world
    threads  processes          what a rank is
    cores  collector            what ranks of one host share: its cores, and Python's collector
    replacements  wall_clock  chance     what would come from outside of a simulated run
    standard_locks  standard_locals  what the standard library has for threads, for simulated ranks
    real_time  callers          what of it is refused, since it takes real time, and who called it
    package_threads             threads of installed packages, for simulated ranks
    rank_environment            `os.environ` of each rank, where ranks are threads
    output                      what a simulated rank prints and logs
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from datetime import timedelta
from functools import partial
from typing import Any, TypeVar

from minitorch_dist.distributed.journal import files
from minitorch_dist.launching import processes, threads
from transports import registry
from transports.clock import SYSTEM, Clock
from transports.virtual.clock import VirtualClock

T = TypeVar("T")


def launch(
    fn: Callable[..., T],
    world_size: int,
    transport: str = "queue://",
    args: Sequence[Any] = (),
    kwargs: Mapping[str, Any] | None = None,
    *,
    timeout: timedelta | float | None = None,
    clock: Clock = SYSTEM,
    journal: str | os.PathLike[str] | None = None,
    limit: float | None = None,
) -> list[T]:
    """Run `fn(*args, **kwargs)` on each rank, and return the results by rank.

    For processes `fn`, its arguments and results must be picklable. A function typed into a notebook is sent as its
    source. In virtual time the clock has a limit of its own; a thread that sleeps cannot be ended, and is left behind.

    Args:
        fn: The function; the world stands before it is called.
        world_size: How many ranks there are.
        transport: An address. `queue://` makes threads, `sim://` simulated ranks, `tcp://`, `file://` and others processes.
        args: Its positional arguments.
        kwargs: Its keyword arguments.
        timeout: The time limit of every operation, 30 minutes by default.
        clock: The clock of ranks that are threads.
        journal: A file in which to write down what the ranks do; by default the one that MINITORCH_DIST_JOURNAL names.
        limit: The time limit of the whole run, in seconds.

    Returns:
        What the function returned, by rank.

    Raises:
        OutOfTime: The run took longer than `limit`; the error says where each rank stood.
        Exception: The first error of a rank, with the traceback that it had there.

    Example:
        >>> torch.launch(dist.get_rank, 3)  # three threads
        [0, 1, 2]
    """
    if world_size < 1:
        raise ValueError(f"a world has at least one rank, but world_size is {world_size}")
    if not callable(fn):
        raise TypeError(f"launch takes a function, but got {fn!r}")
    seconds = timeout.total_seconds() if isinstance(timeout, timedelta) else timeout
    patience = timedelta(minutes=30) if seconds is None else timedelta(seconds=seconds)
    kind = registry.find(transport)
    path = files.wanted(journal)
    # Functions of Python call each other without C's stack, of which each simulated rank keeps its own. So none is begun by a
    # `partial` where it can be helped.
    called: Callable[[], Any] = partial(fn, *args, **kwargs or {}) if args or kwargs else fn
    if kind.ranks_are == "threads":
        if kind.needs_virtual_time and clock is SYSTEM:
            clock = VirtualClock(endless=patience.total_seconds() / 2)  # a deadlock is told at once
        return threads.run(called, world_size, transport, patience, clock, path, limit)
    if kind.ranks_are == "mpi":
        raise ValueError(
            f"launch(…, {transport!r}) cannot start the ranks: MPI does. Run mpirun -n {world_size} python …, and call "
            "init_process_group('mpi') in the script"
        )
    return processes.run(called, world_size, transport, patience, path, limit)


__all__ = ["launch"]
