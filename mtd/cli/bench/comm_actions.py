"""The operations that `mtd bench comm` times, in the words of torch and in those of MPI.

Each takes a number of float32 elements (at least one per rank) and returns a function that does the
operation once. Sizes are nccl-tests': of the gathered, or the whole scattered, vector.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

PROGRAM = True  # a user's program, to the library that is timed
Action = Callable[[], Any]
Actions = dict[str, Callable[[int], Action]]


def of_torch(t: Any, dist: Any, rank: int, world: int) -> Actions:
    """For torch and for minitorch_dist."""

    def barrier(count: int) -> Action:
        return dist.barrier  # type: ignore[no-any-return]

    def send_recv(count: int) -> Action:
        x = t.ones(count)

        def there_and_back() -> None:
            if rank == 0:
                dist.send(x, 1)
                dist.recv(x, 1)
            elif rank == 1:
                dist.recv(x, 0)
                dist.send(x, 0)

        return there_and_back

    def broadcast(count: int) -> Action:
        x = t.ones(count)
        return lambda: dist.broadcast(x, 0)

    def all_reduce(count: int) -> Action:
        x = t.zeros(count)  # zeros stay zeros, however often they are added up
        return lambda: dist.all_reduce(x)

    def all_gather(count: int) -> Action:
        part, whole = t.ones(max(1, count // world)), t.ones(max(1, count // world) * world)
        gather = getattr(dist, "all_gather_single", None) or dist.all_gather_into_tensor
        return lambda: gather(whole, part)

    def reduce_scatter(count: int) -> Action:
        part, whole = t.zeros(max(1, count // world)), t.zeros(max(1, count // world) * world)
        scatter = getattr(dist, "reduce_scatter_single", None) or dist.reduce_scatter_tensor
        return lambda: scatter(part, whole)

    def all_to_all(count: int) -> Action:
        a, b = (t.ones(max(1, count // world) * world) for _ in "ab")
        return lambda: dist.all_to_all_single(a, b)

    return _named(barrier, send_recv, broadcast, all_reduce, all_gather, reduce_scatter, all_to_all)


def of_mpi(mpi: Any, np: Any, rank: int, world: int) -> Actions:
    """For mpi4py, on numpy arrays, without pickle."""
    comm = mpi.COMM_WORLD

    def whole_and_part(count: int) -> tuple[Any, Any]:
        each = max(1, count // world)
        return np.zeros(each * world, np.float32), np.zeros(each, np.float32)

    def barrier(count: int) -> Action:
        return comm.Barrier  # type: ignore[no-any-return]

    def send_recv(count: int) -> Action:
        x = np.ones(count, np.float32)

        def there_and_back() -> None:
            if rank == 0:
                comm.Send(x, 1)
                comm.Recv(x, 1)
            elif rank == 1:
                comm.Recv(x, 0)
                comm.Send(x, 0)

        return there_and_back

    def broadcast(count: int) -> Action:
        x = np.ones(count, np.float32)
        return lambda: comm.Bcast(x, 0)

    def all_reduce(count: int) -> Action:
        x = np.zeros(count, np.float32)
        return lambda: comm.Allreduce(mpi.IN_PLACE, x)

    def all_gather(count: int) -> Action:
        whole, part = whole_and_part(count)
        return lambda: comm.Allgather(part, whole)

    def reduce_scatter(count: int) -> Action:
        whole, part = whole_and_part(count)
        return lambda: comm.Reduce_scatter_block(whole, part)

    def all_to_all(count: int) -> Action:
        (a, _), (b, _) = whole_and_part(count), whole_and_part(count)
        return lambda: comm.Alltoall(a, b)

    return _named(barrier, send_recv, broadcast, all_reduce, all_gather, reduce_scatter, all_to_all)


def _named(*found: Callable[[int], Action]) -> Actions:
    return {action.__name__: action for action in found}
