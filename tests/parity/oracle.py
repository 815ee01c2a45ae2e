"""Ranks of the real torch, each in a process of its own; asked again where torch itself falls over.

gloo aborts now and then on its way out ("terminate called without an active exception"), the store goes
with rank 0 while another rank still asks it something ("Connection reset by peer"), and a port that was
free may be taken by the time torch listens. What torch computes is not in doubt for that: a second attempt
gives it. An attempt that gives something else than what we give is compared, and fails the test.
"""

from __future__ import annotations

import os
import pickle
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

Answer = TypeVar("Answer")
TRIES = 3
SECONDS = 120  # for each attempt, on a machine with other work


class TorchFailed(Exception):
    """A process of torch's that did not end well."""


def asked(attempt: Callable[[], Answer]) -> Answer:
    """What `attempt` returns, the first time that torch does not fail in it."""
    for _ in range(TRIES - 1):
        try:
            return attempt()
        except (TorchFailed, subprocess.TimeoutExpired) as error:
            print(f"torch failed, and is asked again: {error}", file=sys.stderr)
    return attempt()


def ranks(module: str, size: int, folder: Path) -> list[Any]:
    """What `torch_rank(rank, folder)` of a module leaves in `folder`/rank.pickle, by rank."""

    def attempt() -> list[Any]:
        there = folder / f"torch{len(list(folder.iterdir()))}"
        there.mkdir()
        program = f"from {module} import torch_rank; torch_rank(int(__import__('sys').argv[1]), {str(there)!r})"
        command = [sys.executable, "-W", "ignore", "-c", program]
        environment = {**os.environ, "OMP_NUM_THREADS": "1"}
        workers = [subprocess.Popen([*command, str(r)], env=environment) for r in range(size)]
        try:
            codes = [worker.wait(SECONDS) for worker in workers]
        finally:
            for worker in workers:
                worker.kill()
                worker.wait()
        if codes != [0] * size:
            raise TorchFailed(f"the ranks of {module} ended with {codes}")
        return [pickle.loads((there / f"{rank}.pickle").read_bytes()) for rank in range(size)]

    return asked(attempt)


def join(f: Any, rank: int, folder: str) -> None:
    """Be a rank of torch over gloo. The file `size`, beside the folder, has the number of ranks."""
    f.torch.set_num_threads(1)
    size = int(Path(folder, "..", "size").resolve().read_text("utf-8"))
    store = f.dist.FileStore(f"{folder}/store", size)
    f.dist.init_process_group("gloo", store=store, rank=rank, world_size=size)


def leave(f: Any, rank: int, folder: str, found: Any) -> None:
    """Leave this for `ranks`, and end together with the others."""
    Path(folder, f"{rank}.pickle").write_bytes(pickle.dumps(found))
    f.dist.barrier()
    os._exit(0)
