"""Worlds of real processes that cost little: forked from one process that has imported everything.

    test ── spawn ──► nursery (one thread, all modules) ── fork ──► rank 0 … n-1 of world 1
                                                        ── fork ──► rank 0 … n-1 of world 2 …

A rank of `worlds` calls a function of a module and its result comes back through a pipe; None for
one that died. Ranks meet through a file of their own, so none of them is a master.
"""

from __future__ import annotations

import multiprocessing
import os
import pickle
import select
import signal
import tempfile
import time
import traceback
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Any, NamedTuple

import minitorch_dist.distributed as dist

SECONDS = 300.0  # for one world, before it counts as hanging


class World(NamedTuple):
    """What the ranks of one world do: `act(rank, *given)` once each has joined."""

    address: str
    size: int
    act: Callable[..., Any]
    given: tuple[Any, ...] = ()


def run(worlds: Sequence[World], at_once: int = 1) -> list[list[Any]]:
    """Results by world and rank. A world that hangs is ended, and its ranks have "hangs"."""
    context = multiprocessing.get_context("spawn")
    ours, theirs = context.Pipe(duplex=False)
    process = context.Process(target=_nurse, args=(theirs, list(worlds), at_once))
    process.start()
    theirs.close()
    try:
        return list(ours.recv())
    finally:
        ours.close()
        process.join()
        process.close()


def _nurse(pipe: Any, worlds: list[World], at_once: int) -> None:
    results: list[list[Any]] = []
    with tempfile.TemporaryDirectory(prefix="nursery-") as folder:
        for start in range(0, len(worlds), at_once):
            here = worlds[start : start + at_once]
            ranks = [
                [_bear(world, rank, f"{folder}/{start + n}") for rank in range(world.size)]
                for n, world in enumerate(here)
            ]
            until = time.monotonic() + SECONDS
            results += [[_hear(*child, until) for child in children] for children in ranks]
        pipe.send(results)


def _bear(world: World, rank: int, meeting: str) -> tuple[int, int]:
    """Fork a rank; its process and the file descriptor where it answers."""
    reading, writing = os.pipe()
    process = os.fork()
    if process:
        os.close(writing)
        return process, reading
    try:
        os.close(reading)
        dist.init_process_group(world.address, f"file://{meeting}", rank=rank, world_size=world.size)
        result = world.act(rank, *world.given)
        dist.destroy_process_group()
    except BaseException:
        result = traceback.format_exc()
    with suppress(BaseException), os.fdopen(writing, "wb") as answer:
        answer.write(pickle.dumps(result))
    os._exit(0)


def _hear(process: int, reading: int, until: float) -> Any:
    """What a rank answers before the pipe ends."""
    heard = bytearray()
    with os.fdopen(reading, "rb", buffering=0) as answer:
        while select.select([answer], [], [], max(0.0, until - time.monotonic()))[0]:
            piece = answer.read(1 << 16)
            if not piece:
                os.waitpid(process, 0)
                return pickle.loads(heard) if heard else None
            heard += piece
    os.kill(process, signal.SIGKILL)
    os.waitpid(process, 0)
    return "hangs"
