"""What `test_mpi` runs on every process of an mpirun: the conformance kit, or a whole world.

The processes are there already, so a launch of the kit is: run the program as the rank that we are,
and tell the others the result through the store.
"""

from __future__ import annotations

import os
import pickle
import signal
import sys
from contextlib import suppress
from datetime import timedelta
from typing import Any, NoReturn

from mpi4py import MPI

from transports import conformance, mpi
from transports.conformance import End
from transports.conformance.launchers import Program
from transports.errors import DistNetworkError
from transports.stores.store import PrefixStore

RANK, SIZE = MPI.COMM_WORLD.rank, MPI.COMM_WORLD.size
DEADLY = ("death", "death_in_send")


def die() -> NoReturn:
    os.kill(os.getpid(), signal.SIGKILL)
    raise AssertionError("a killed process goes on")


def kit(*only: str) -> str:
    store = mpi.store(timedelta(seconds=60))
    launches = iter(range(1000))
    survivors = [rank for rank in range(SIZE) if not (only[0] in DEADLY and rank == SIZE - 1)]

    def launch(world_size: int, program: Program) -> list[Any]:
        place = PrefixStore(f"{next(launches)}", store)
        end = End(RANK, SIZE, lambda: mpi.MpiTransport(RANK, SIZE), place, die)
        place.set(f"result/{RANK}", pickle.dumps(program(end)))
        found = {rank: pickle.loads(place.get(f"result/{rank}")) for rank in survivors}
        return [found.get(rank) for rank in range(SIZE)]

    conformance.check(launch, [SIZE], only=only, patience=30)
    if RANK == 0:  # it has the store
        store.wait([f"done/{rank}" for rank in survivors if rank])
    else:
        with suppress(DistNetworkError):  # it may have left before it has answered
            store.set(f"done/{RANK}", "")
    return f"{len(only)} checks"


def world() -> str:
    """Every face: init with MPI's numbers, launch, and what a wrong size leads to."""
    import minitorch_dist as torch
    import minitorch_dist.distributed as dist

    found = []
    for _ in range(2):
        dist.init_process_group("mpi")
        assert (dist.get_rank(), dist.get_world_size()) == (RANK, SIZE)
        assert dist.get_backend() == "mpi"
        x = torch.arange(200_003, dtype=torch.float32) * (RANK + 1)
        dist.all_reduce(x)
        found.append(x[200_002].item())
        own, got = torch.full((1_000_000,), RANK), torch.zeros(1_000_000, dtype=torch.int64)
        if SIZE > 1:  # both first, and large
            dist.isend(own, (RANK + 1) % SIZE)
            dist.recv(got, (RANK - 1) % SIZE)
            assert got[-1].item() == (RANK - 1) % SIZE
        dist.barrier()
        dist.destroy_process_group()
    assert found == [200_002.0 * SIZE * (SIZE + 1) / 2] * 2
    try:
        torch.launch(dist.get_rank, SIZE, "mpi://")
    except ValueError as error:
        assert f"mpirun -n {SIZE}" in str(error)
    else:
        raise AssertionError("launch has started what MPI starts")
    return "a world"


def end() -> str:
    """All take themselves for the root of the last broadcast."""
    import minitorch_dist as torch
    import minitorch_dist.distributed as dist

    dist.init_process_group("mpi")
    dist.barrier()
    try:
        dist.broadcast(torch.ones(3), RANK)
        dist.destroy_process_group()
    except dist.DistMismatch as error:
        return "told" if str(error).count("broadcast #1 (float32[3], root") == 2 else str(error)
    return "nothing"


if __name__ == "__main__":
    act = {"kit": kit, "world": world, "end": end}[sys.argv[1]]
    print(f"rank {RANK}:", act(*sys.argv[2:]), flush=True)
    if sys.argv[2:] and sys.argv[2] in DEADLY:
        os._exit(0)  # after a death Open MPI's own end sometimes waits for ever for the dead
