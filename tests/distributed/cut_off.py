"""The ranks of one host, whose cable is pulled: forks of one process in a network namespace (see `test_cables`).

    python -m tests.distributed.cut_off FOLDER PLACES

Each place is `program/rank/size/port`. A rank says `… ready` when it may be cut off. Its last line is how it ended:
`… end TEXT`, with everything that it has said in the log, and the error that it raised.
"""

from __future__ import annotations

import ctypes
import faulthandler
import io
import logging
import os
import signal
import sys
import time
import traceback
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import minitorch_dist as torch
import minitorch_dist.distributed as dist

MASTER = "10.99.0.1"
LATE = 60  # seconds after which a rank that has not ended shows where it is
BIG = 8_000_000  # elements: more than all buffers between two hosts hold
Ready = Callable[[], None]


def collective(rank: int, size: int, ready: Ready, folder: Path) -> None:
    """One sum after the other."""
    while True:
        dist.all_reduce(torch.ones(1000))
        ready()


def big(rank: int, size: int, ready: Ready, folder: Path) -> None:
    """Everybody is in the middle of sending much."""
    there, here = torch.ones(BIG), torch.zeros(BIG)
    while True:
        work = dist.isend(there, (rank + 1) % size)
        dist.recv(here, (rank - 1) % size)
        assert work is not None, "another rank"
        work.wait()
        ready()


def idle(rank: int, size: int, ready: Ready, folder: Path) -> None:
    """Nothing is on its way: each waits for a rank that waits itself."""
    dist.barrier()
    ready()
    dist.recv(torch.zeros(1), 1 if rank == 0 else 0)


def monitored(rank: int, size: int, ready: Ready, folder: Path) -> None:
    while True:
        dist.monitored_barrier()
        ready()


def leaving(rank: int, size: int, ready: Ready, folder: Path) -> None:
    """The cable is pulled while nobody waits; then all leave."""
    dist.barrier()
    ready()
    while not (folder / "pulled").exists():
        time.sleep(0.05)


def meeting(rank: int, size: int, ready: Ready, folder: Path) -> None:
    """The last rank never comes, so all others are on their way in (`ready` was called before)."""
    raise AssertionError("the world has begun without its last rank")


PROGRAMS = {
    "collective": collective,
    "big": big,
    "idle": idle,
    "monitored": monitored,
    "leaving": leaving,
    "meeting": meeting,
    "mqtt": collective,
}


def live(place: str, folder: Path, say: Callable[[str], None]) -> str:
    """A rank's whole life; the text of its end."""
    name, *numbers = place.split("/")
    rank, size, port = map(int, numbers)
    has_said = False

    def ready() -> None:
        nonlocal has_said
        if not has_said:
            has_said = True
            say("ready")

    faulthandler.dump_traceback_later(LATE)
    log = io.StringIO()
    logging.basicConfig(stream=log, format="%(message)s", force=True)
    backend = "mqtt" if name == "mqtt" else "tcp"
    address = f"{backend}://{MASTER}:{port}" + f"/job{size}?broker_timeout=5" * (name == "mqtt")
    error = ""
    try:
        if name == "meeting":
            ready()
        dist.init_process_group(backend, address, rank=rank, world_size=size)
        PROGRAMS[name](rank, size, ready, folder)
    except Exception:
        error = traceback.format_exc()
        say("failed")
    with suppress(Exception):
        dist.destroy_process_group()
    return f"{log.getvalue()}{error}".replace("\n", " | ")


def end_with(mother: int) -> None:
    """No rank outlives the process that has started it (Linux)."""
    ctypes.CDLL(None).prctl(1, signal.SIGKILL)  # PR_SET_PDEATHSIG
    if os.getppid() != mother:
        os._exit(1)


def main(folder: Path, places: list[str]) -> None:
    children = []
    mother = os.getpid()
    for place in places:
        pid = os.fork()
        if pid == 0:
            end_with(mother)

            def say(what: str, place: str = place) -> None:
                os.write(1, f"{place} {what}\n".encode()[-4000:])

            try:
                say(f"end {live(place, folder, say)[-3000:]}")
            finally:
                os._exit(0)
        children.append(pid)
    for pid in children:
        os.waitpid(pid, 0)


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2:])
