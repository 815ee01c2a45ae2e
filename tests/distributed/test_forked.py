"""A process that is forked from a rank cannot speak for it, over any wire between processes."""

from __future__ import annotations

import os
from collections.abc import Callable
from multiprocessing import get_context
from typing import Any

import pytest

import minitorch_dist as torch
import minitorch_dist.distributed as dist
from tests.ports import free_port

CALLS: dict[str, Callable[[], object]] = {
    "all_reduce": lambda: dist.all_reduce(torch.ones(3)),
    "large all_reduce": lambda: dist.all_reduce(torch.ones(300_000)),
    "asynchronous": lambda: dist.all_reduce(torch.ones(3), async_op=True),
    "barrier": lambda: dist.barrier(),
    "objects": lambda: dist.all_gather_object([None, None], 1),
    "send": lambda: dist.send(torch.ones(3), 1),
    "isend": lambda: dist.isend(torch.ones(3), 1),
    "receive": lambda: dist.recv(torch.ones(3), 1),
}


def _said(call: Callable[[], object]) -> str:
    try:
        call()
    except RuntimeError as error:
        return str(error)
    return "done"


def _child(pipe: Any) -> None:
    said = [_said(call) for call in CALLS.values()]
    dist.destroy_process_group()
    pipe.send([*said, dist.is_initialized()])


def _rank(rank: int, wire: str, port: int, pipe: Any) -> None:
    dist.init_process_group(wire, init_method=f"tcp://127.0.0.1:{port}", rank=rank, world_size=2)
    dist.all_reduce(torch.ones(3))  # its kind of call is prepared
    said: list[Any] = []
    if rank == 0:
        ours, theirs = get_context("fork").Pipe()
        child = get_context("fork").Process(target=_child, args=(theirs,))
        child.start()
        said = ours.recv()
        child.join()
    totals = []
    for size in (3, 300_000):
        tensor = torch.full((size,), float(rank + 1))
        dist.all_reduce(tensor)
        totals.append(tensor.max().item())
    dist.destroy_process_group()
    pipe.send((said, totals))


@pytest.mark.skipif(not hasattr(os, "fork"), reason="the system cannot fork")
@pytest.mark.parametrize("wire", ["tcp", "file", "mqtt"])
@pytest.mark.filterwarnings("ignore:.*multi-threaded, use of fork:DeprecationWarning")
def test_a_forked_child_cannot_speak_for_its_parent(wire: str) -> None:
    context, port = get_context("spawn"), free_port()
    pipes = [context.Pipe() for _ in range(2)]
    ranks = [context.Process(target=_rank, args=(rank, wire, port, pipes[rank][1])) for rank in range(2)]
    for rank in ranks:
        rank.start()
    (said, totals), (_, others) = [ours.recv() if ours.poll(120) else ([], []) for ours, _ in pipes]
    for rank in ranks:
        rank.join()
    assert totals == others == [3.0, 3.0]
    assert len(said) == len(CALLS) + 1 and said.pop() is False
    assert all("was forked from rank 0" in words for words in said), said
