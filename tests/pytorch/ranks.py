"""A function on every rank of a real world, whose ranks are forked processes with torch in them."""

from __future__ import annotations

import os
from collections.abc import Callable
from multiprocessing import get_context
from typing import Any

import torch
import torch._dynamo  # DDP imports it, and fully_shard what follows: here once, and not in each rank
import torch.distributed as dist
import torch.distributed.fsdp

import minitorch_dist.pytorch.creation  # noqa: F401 - before the fork: it takes half a second
from tests.ports import free_port


def on_ranks(
    function: Callable[..., Any], world_size: int, *args: Any, backend: str = "mtd", wire: str = "tcp"
) -> list[Any]:
    """The results by rank. An error in a rank comes out of here; the others are ended."""
    context = get_context("fork")
    torch.set_num_threads(1)
    port, pipes, processes = free_port(), [], []
    for rank in range(world_size):
        ours, theirs = context.Pipe()
        given = (rank, world_size, port, backend, wire, function, args, theirs)
        process = context.Process(target=_live, args=given, name=f"rank {rank}")
        process.start()
        theirs.close()
        pipes.append(ours)
        processes.append(process)
    try:
        answers = [_answer(pipe, rank) for rank, pipe in enumerate(pipes)]
    finally:
        for process in processes:
            process.join(20)
            if process.is_alive():
                process.kill()
                process.join()
            process.close()
        for pipe in pipes:
            pipe.close()
    failures = [error for _, error in answers if error is not None]
    if failures:
        if isinstance(failures[0], RankFailed):
            failures[0].of_all = "\n".join(map(str, failures))
        raise failures[0]
    return [result for result, _ in answers]


def _answer(pipe: Any, rank: int) -> tuple[Any, BaseException | None]:
    if not pipe.poll(60):
        return None, TimeoutError(f"rank {rank} has not answered")
    try:
        answer: tuple[Any, BaseException | None] = pipe.recv()
    except EOFError:
        return None, RuntimeError(f"rank {rank} ended without an answer")
    return answer


def _live(
    rank: int, world_size: int, port: int, backend: str, wire: str, function: Callable[..., Any], args: Any, pipe: Any
) -> None:
    os.environ.update(
        RANK=f"{rank}",
        LOCAL_RANK=f"{rank}",
        WORLD_SIZE=f"{world_size}",
        MASTER_ADDR="127.0.0.1",
        MASTER_PORT=f"{port}",
        MTD_TRANSPORT=wire,
    )
    try:
        dist.init_process_group(backend)
        # Kept until the end: a Reducer that lets go of the last reference to a group of gloo's waits, with the GIL, for
        # gloo's thread, and that thread may be waiting for the GIL to free a tensor.
        group = dist.group.WORLD
        result = function(*args)
        if dist.is_initialized():
            dist.destroy_process_group()
        del group
    except BaseException as error:
        pipe.send((None, _sendable(error)))
    else:
        pipe.send((result, None))
    pipe.close()


def _sendable(error: BaseException) -> BaseException:
    """Classes that are ours and torch's at once are made at run time, and cannot be sent."""
    kinds = ", ".join(kind.__module__ + "." + kind.__name__ for kind in type(error).__mro__)
    return RankFailed(f"{type(error).__name__}: {error}", kinds)


class RankFailed(Exception):
    """An error of a rank, and the names of its classes."""

    of_all = ""  # the words of all ranks that failed

    @property
    def kinds(self) -> str:
        return str(self.args[1])
