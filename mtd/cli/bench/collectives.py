"""The collectives that benchmarks time, in the same lines for torch, for minitorch_dist and for MPI.

Sizes are nccl-tests': of the gathered, or the whole scattered, vector of float32.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from types import SimpleNamespace
from typing import Any, Final, NamedTuple

PROGRAM = True  # a user's program, to the library that is timed
OPERATIONS: Final = ("barrier", "send_recv", "broadcast", "all_reduce", "all_gather", "reduce_scatter", "all_to_all")


class ReadyRow(NamedTuple):
    """`given` may be filled with other numbers; `results` are the tensors that `act` writes."""

    act: Callable[[], object]
    given: Sequence[Any]
    results: Callable[[], Sequence[Any]]


def ready(t: Any, dist: Any, operation: str, nbytes: int) -> ReadyRow:
    """Zeros stay zeros, however often they are added up. Each rank has an element at least."""
    world = dist.get_world_size()
    each = max(1, nbytes // 4 // world)
    whole, part, other = t.zeros(each * world), t.zeros(each), t.zeros(each * world)
    pairs = {"all_gather": (part, whole), "reduce_scatter": (whole, part)}
    given, result = pairs.get(operation, (whole, whole))
    calls: dict[str, Callable[[], object]] = {
        "barrier": dist.barrier,
        "send_recv": partial(there_and_back, dist, whole),
        "broadcast": partial(dist.broadcast, whole, 0),
        "all_reduce": partial(dist.all_reduce, whole),
        "all_gather": partial(_named(dist, "all_gather_single", "all_gather_into_tensor"), whole, part),
        "reduce_scatter": partial(_named(dist, "reduce_scatter_single", "reduce_scatter_tensor"), part, whole),
        "all_to_all": partial(dist.all_to_all_single, other, whole),
    }
    return ReadyRow(calls[operation], [given], lambda: [result])


def _named(dist: Any, since: str, before: str) -> Any:
    """By torch's name since 2.13, or by the former one."""
    return getattr(dist, since, None) or getattr(dist, before)


def there_and_back(dist: Any, x: Any) -> None:
    """From rank 0 to rank 1, and back."""
    if dist.get_rank() == 0:
        dist.send(x, 1)
        dist.recv(x, 1)
    elif dist.get_rank() == 1:
        dist.recv(x, 0)
        dist.send(x, 0)


def of_mpi(mpi: Any, np: Any) -> tuple[Any, Any]:
    """Both namespaces that `ready` takes, by torch's names: arrays of numpy, and mpi4py's calls on them, without pickle."""
    comm = mpi.COMM_WORLD
    return SimpleNamespace(zeros=partial(np.zeros, dtype=np.float32)), SimpleNamespace(
        get_rank=comm.Get_rank,
        get_world_size=comm.Get_size,
        barrier=comm.Barrier,
        send=comm.Send,
        recv=comm.Recv,
        broadcast=comm.Bcast,
        all_reduce=partial(comm.Allreduce, mpi.IN_PLACE),
        all_gather_single=lambda whole, part: comm.Allgather(part, whole),
        reduce_scatter_single=lambda part, whole: comm.Reduce_scatter_block(whole, part),
        all_to_all_single=lambda into, whole: comm.Alltoall(whole, into),
    )
