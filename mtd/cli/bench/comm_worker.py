"""One rank of a world that `mtd bench comm` times: waits for a line, does as it says, answers.

`python -m … LIBRARY BACKEND ADDRESS RANK WORLD`; the same lines for torch, for mpi4py and for every
transport here. A command is `time|memory operation bytes repeats`. The answer is the seconds of one
operation, or how many bytes it held at most beyond what it was given. Between commands every rank
sleeps in a read, so that worlds which wait take no time from the one that is measured.
"""

from __future__ import annotations

import importlib
import sys
import threading  # noqa: TID251 - ranks that are threads hand each other the commands
import tracemalloc
import warnings
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

from mtd.cli.bench import comm_actions as actions
from mtd.cli.bench.comm_actions import Actions
from mtd.cli.bench.turns import timed

PROGRAM = True  # a user's program, to the library that is timed
Answer = Callable[[str], Any]


def serve(known: Actions, commands: Iterable[str], answer: Answer) -> None:
    """Do what is asked until the input ends."""
    barrier = known["barrier"](1)
    barrier()
    answer("ready")
    for line in commands:
        what, operation, nbytes, repeats = line.split()
        action = known[operation](max(1, int(nbytes) // 4))
        action()
        barrier()
        if what == "memory":
            answer(str(_peak(action)))
            continue
        answer(str(timed(action, int(repeats))))


def _peak(action: actions.Action) -> int:
    """Bytes that Python and numpy held at most during one operation; a board is not among them."""
    tracemalloc.start()
    try:
        action()
        tracemalloc.reset_peak()
        before = tracemalloc.get_traced_memory()[0]
        action()
        return tracemalloc.get_traced_memory()[1] - before
    finally:
        tracemalloc.stop()


def in_process(library: str, backend: str, address: str, rank: int, world: int) -> None:
    t = importlib.import_module(library)
    dist = importlib.import_module(f"{library}.distributed")
    if library == "torch":
        t.set_num_threads(1)
    dist.init_process_group(backend, init_method=address, rank=rank, world_size=world)
    serve(actions.of_torch(t, dist, rank, world), sys.stdin, say)
    dist.destroy_process_group()


def in_threads(world: int) -> None:
    """All ranks in this process. The answer is that of the slowest rank, or of the one that held most."""
    t = importlib.import_module("minitorch_dist")
    dist = importlib.import_module("minitorch_dist.distributed")
    launching = importlib.import_module("minitorch_dist.launching")
    meet = threading.Barrier(world)
    lines, answers = [""], [""] * world

    def commands(rank: int) -> Iterator[str]:
        while True:
            if rank == 0:
                lines[0] = sys.stdin.readline()
            meet.wait()
            if not lines[0]:
                return
            yield lines[0]

    def body() -> None:
        rank = dist.get_rank()

        def answer(text: str) -> None:
            answers[rank] = text
            meet.wait()
            if rank == 0:
                say(max(answers, key=lambda a: float(a) if a != "ready" else 0))

        serve(actions.of_torch(t, dist, rank, world), commands(rank), answer)

    launching.launch(body, world)


def in_mpi(folder: str) -> None:
    """Under mpirun, which passes standard input to one rank only: each has a pair of pipes."""
    mpi = importlib.import_module("mpi4py.MPI")
    np = importlib.import_module("numpy")
    rank, world = mpi.COMM_WORLD.rank, mpi.COMM_WORLD.size
    heard, said = (Path(folder, f"mpi.{rank}.{end}") for end in ("in", "out"))
    with heard.open() as commands, said.open("w") as out:

        def answer(text: str) -> None:
            print(text, file=out, flush=True)

        serve(actions.of_mpi(mpi, np, rank, world), iter(commands.readline, "end\n"), answer)
    mpi.Finalize()


def say(text: str) -> None:
    print(text, flush=True)


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    library, backend, address, rank, world = sys.argv[1:]
    if library == "mpi":
        in_mpi(address)
    elif backend == "queue":
        in_threads(int(world))
    else:
        in_process(library, backend, address, int(rank), int(world))
