"""`launch`: run a function on every rank of a world, and get the results back.

    launch(train, 4)                               ranks are threads of this process
    launch(train, 4, "sim://")                     the same, in virtual time, over a network
    launch(train, 4, "tcp://", args=(model,))      ranks are processes of this host
    launch(train, 4, "mpi://")                     under `mpirun -n 4`: this process is one of them

The world stands before the function is called: `get_rank()` answers, and a script's own
`init_process_group(…)` takes over what is there. Every rank begins with a copy of the caller's
random generator. The first rank that fails ends the others, and its exception is raised here.

    ranks                       one rank: make the world, call the function, end the world
    threads  processes  mpi     what a rank is
    cores  collector            what ranks of one host share: its cores, and Python's collector
    outside  wall_clock  chance     what would come from outside of a simulated run
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from datetime import timedelta
from typing import Any, TypeVar

from minitorch_dist.distributed.journal import sheets
from minitorch_dist.launching import mpi, processes, threads
from transports import registry
from transports.clock import SYSTEM, Clock
from transports.virtual.clock import VirtualClock

T = TypeVar("T")

THREADS = {"queue", "sim"}


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
) -> list[T]:
    """What `fn(*args, **kwargs)` returns on each rank, by rank.

    `transport` is the address of a transport: `queue://` makes threads, `tcp://`, `file://` and
    others make processes, for which `fn`, its arguments and results must be picklable (a function
    typed into a notebook is sent as its source). `timeout` is that of every operation (30 minutes).
    `journal` names a file in which to write down what the ranks do (see `distributed.journal`); by
    default the one that MINITORCH_DIST_JOURNAL names, if it does.
    """
    if world_size < 1:
        raise ValueError(f"a world has at least one rank, but world_size is {world_size}")
    if not callable(fn):
        raise TypeError(f"launch takes a function, but got {fn!r}")
    seconds = timeout.total_seconds() if isinstance(timeout, timedelta) else timeout
    limit = timedelta(minutes=30) if seconds is None else timedelta(seconds=seconds)
    registry.find(transport)
    scheme = registry.scheme_of(transport)
    path = sheets.wanted(journal)
    if scheme in THREADS:
        if scheme == "sim" and clock is SYSTEM:
            clock = VirtualClock(endless=limit.total_seconds() / 2)  # a deadlock is told at once
        return threads.run(fn, world_size, transport, args, kwargs or {}, limit, clock, path)
    if scheme == "mpi":
        return mpi.run(fn, world_size, args, kwargs or {}, limit)
    return processes.run(fn, world_size, transport, args, kwargs or {}, limit, path)


__all__ = ["launch"]
