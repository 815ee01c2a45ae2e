"""One rank of a world that a benchmark times: waits for a line, does as it says, answers.

`python -m … LIBRARY BACKEND ADDRESS RANK WORLD`; the same lines for torch, for mpi4py and for every transport here. PyTorch itself
runs over gloo, or over one of our wires. Commands are those of `turns.answer_commands`: a collective and its bytes, or a model and how it trains.
Between commands every rank sleeps in a read, so that worlds which wait take no time from the one that is measured.
"""

from __future__ import annotations

import importlib
import os
import sys
import threading  # noqa: TID251 - ranks that are threads hand each other the commands
import warnings
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

from mtd.cli.bench import collectives, steps
from mtd.cli.bench.collectives import ReadyRow
from mtd.cli.bench.turns import answer_commands, say
from mtd.cli.bench.worlds import PEER

PROGRAM = True  # a user's program, to the library that is timed


def prepared(t: Any, dist: Any, command: str) -> ReadyRow:
    """Of `all_reduce 4096`, or `mlp ddp`."""
    name, how = command.split()
    if name in collectives.OPERATIONS:
        return collectives.ready(t, dist, name, int(how))
    return steps.ready(t, name, how)


def serve(t: Any, dist: Any, **ends: Any) -> None:
    answer_commands(lambda command: prepared(t, dist, command).act, dist.barrier, **ends)


def in_process(library: str, backend: str, address: str, rank: int, world: int) -> None:
    t, dist = (importlib.import_module(name) for name in (library, f"{library}.distributed"))
    importlib.import_module(f"{library}.nn.parallel")
    t.set_num_threads(1)  # else the products of all ranks would want all cores
    if library == "torch" and backend != PEER:
        os.environ["MTD_TRANSPORT"], backend = f"{backend}://", "mtd"
    dist.init_process_group(backend, init_method=address, rank=rank, world_size=world)
    serve(t, dist)
    dist.destroy_process_group()


def in_threads(world: int) -> None:
    """All ranks in this process. The answer is that of the slowest rank, or of the one that held most."""
    names = "minitorch_dist", "minitorch_dist.distributed", "minitorch_dist.launching"
    t, dist, launching = map(importlib.import_module, names)
    meet = threading.Barrier(world)
    lines, answers = [""], [0.0] * world

    def commands() -> Iterator[str]:
        while True:
            if dist.get_rank() == 0:
                lines[0] = sys.stdin.readline()
            meet.wait()
            if not lines[0]:
                return
            yield lines[0]

    def answer(found: Any) -> None:
        answers[dist.get_rank()] = found
        meet.wait()
        if dist.get_rank() == 0:
            say(max(answers))

    launching.launch(lambda: serve(t, dist, commands=commands(), answer=answer), world)


def in_mpi(folder: str) -> None:
    """Under mpirun, which passes standard input to one rank only: each has a pair of pipes."""
    mpi, np = importlib.import_module("mpi4py.MPI"), importlib.import_module("numpy")
    heard, said = (Path(folder, f"mpi.{mpi.COMM_WORLD.rank}.{end}") for end in ("in", "out"))
    with heard.open() as commands, said.open("w") as out:
        answer = partial(print, file=out, flush=True)
        serve(*collectives.of_mpi(mpi, np), commands=iter(commands.readline, "end\n"), answer=answer)
    mpi.Finalize()


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    library, backend, address, rank, world = sys.argv[1:]
    if library == "mpi":
        in_mpi(address)
    elif backend == "queue":
        in_threads(int(world))
    else:
        in_process(library, backend, address, int(rank), int(world))
