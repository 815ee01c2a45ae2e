"""A world whose ranks MPI has started: each of its processes calls `launch`, and is one rank.

    mpirun -n 4 python train.py        with launch(train, 4, "mpi://") in it

All of them get all results, or the exception of the rank that failed first of itself. Results are values,
and exceptions of classes that nobody registered arrive as a `RemoteException`.
"""

from __future__ import annotations

import traceback
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from datetime import timedelta
from functools import partial
from importlib import import_module
from typing import Any

from minitorch_dist.distributed import bootstrap, codec, world
from minitorch_dist.distributed.exceptions import PeerFailed, PeerLost
from minitorch_dist.launching import ranks
from minitorch_dist.launching.limit import alarmed
from minitorch_dist.tensors import generator
from transports.stores.store import PrefixStore, Store


def run(
    fn: Callable[..., Any],
    world_size: int,
    args: Sequence[Any],
    kwargs: Mapping[str, Any],
    timeout: timedelta,
    limit: float | None = None,
) -> list[Any]:
    """The results by rank."""
    mpi = import_module("transports.mpi")
    rank, size = mpi.here()
    if size != world_size:
        raise ValueError(
            f"launch(…, {world_size}, 'mpi://') in one of {size} processes that MPI has started: run "
            f"mpirun -n {world_size} python …"
        )
    store = mpi.store(timeout)
    try:
        place = world.place()
        place.given.update(
            rank=rank, world_size=size, store=PrefixStore("world", store), address="mpi://"
        )
        report = _report(place, timeout, limit, fn, args, kwargs, rank, size)
        return _results(store, rank, size, report)
    finally:
        place.given.clear()
        _leave(store, rank, size)


def _report(
    place: world.WorldScope, timeout: timedelta, limit: float | None, fn: Callable[..., Any],
    args: Sequence[Any], kwargs: Mapping[str, Any], rank: int, size: int,
) -> bytes:  # fmt: skip
    """This rank's result or failure. The store carries it, which has no seal: so it is never pickled."""
    try:
        try:
            state = generator.current().clone_state()
            with alarmed(limit):
                result = ranks.run(place, state, timeout, partial(fn, *args, **kwargs))
        except Exception as error:
            bootstrap.confess(error)
            raise
        finally:
            ranks.end(place)
    except Exception as error:
        error.add_note(
            f"(in rank {rank} of {size}, a process over mpi://)\n{traceback.format_exc()}"
        )
        return codec.pack((None, error))
    return _told(result, rank)


def _told(result: Any, rank: int) -> bytes:
    """A rank's result, for all ranks."""
    try:
        return codec.pack((result, None))
    except codec.Unsendable as error:
        return codec.pack((None, ranks.RankFailed(
            f"the result{error.where[3:]} of rank {rank} cannot be given to the other ranks: {error.what}. "
            "Over mpi:// functions return values (tensors, numbers, texts and containers of them)"
        )))  # fmt: skip


def _results(store: Store, rank: int, size: int, report: bytes) -> list[Any]:
    store.set(f"report/{rank}", report)
    reports = [codec.unpack(store.get(f"report/{peer}")) for peer in range(size)]
    failures = [error for _, error in reports if error is not None]
    causes = [error for error in failures if not isinstance(error, PeerLost | PeerFailed)]
    for error in (*causes, *failures):
        raise error
    return [result for result, _ in reports]


def _leave(store: Any, rank: int, size: int) -> None:
    """Rank 0 has the store: it leaves last."""
    with suppress(Exception):
        if rank:
            store.set(f"left/{rank}", "")
        else:
            store.wait([f"left/{peer}" for peer in range(1, size)])
    store.close()
