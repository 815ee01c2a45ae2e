"""One rank of a world that `mtd bench comm` times: waits for a line, does as it says, answers.

The same lines run for torch's gloo and for every transport here: `python -m … LIBRARY BACKEND ADDRESS
RANK WORLD`. A command is `operation bytes repeats`; rank 0 answers with the seconds of one operation.
Between commands every rank blocks on its standard input, so that worlds which wait take no time from
the one that is measured.
"""

from __future__ import annotations

import importlib
import sys
import warnings
from collections.abc import Callable
from time import perf_counter
from typing import Any

Action = Callable[[], Any]


def actions(t: Any, dist: Any, rank: int, world: int) -> dict[str, Callable[[int], Action]]:
    """What each operation does with so many float32 elements (at least one per rank)."""

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

    found = (barrier, send_recv, broadcast, all_reduce, all_gather, reduce_scatter, all_to_all)
    return {action.__name__: action for action in found}


def serve(library: str, backend: str, address: str, rank: int, world: int) -> None:
    """Join the world and do what is asked until the input ends."""
    warnings.simplefilter("ignore")
    t = importlib.import_module(library)
    dist = importlib.import_module(f"{library}.distributed")
    if library == "torch":
        t.set_num_threads(1)
    dist.init_process_group(backend, init_method=address, rank=rank, world_size=world)
    known = actions(t, dist, rank, world)
    print("ready", flush=True)
    for line in sys.stdin:
        operation, nbytes, repeats = line.split()
        action = known[operation](max(1, int(nbytes) // 4))
        action()
        dist.barrier()
        start = perf_counter()
        for _ in range(int(repeats)):
            action()
        print((perf_counter() - start) / int(repeats), flush=True)
    dist.destroy_process_group()


if __name__ == "__main__":
    serve(sys.argv[1], sys.argv[2], sys.argv[3], int(sys.argv[4]), int(sys.argv[5]))
