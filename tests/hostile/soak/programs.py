"""The programs of struck jobs. Each ends with `right`, or says what is wrong; it may be started again in its folder.

python -m tests.hostile.soak.programs PROGRAM ADDRESS SIZE FOLDER      a launcher, by `launch`
mtdrun … programs.py PROGRAM ADDRESS 0 FOLDER                          the same as an elastic job's worker
"""

from __future__ import annotations

import logging
import sys
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import Any

import minitorch_dist as torch
import minitorch_dist.distributed as dist
from minitorch_dist.distributed import checkpoint as dcp, rpc
from minitorch_dist.nn.parallel import DistributedDataParallel

TIMEOUT = timedelta(seconds=30)
STEPS = 8


class Wrong(AssertionError):
    """A result that is not the right one."""


def expect(found: Any, wanted: Any, what: str) -> None:
    if found != wanted:
        raise Wrong(f"WRONG: {what} is {found!r}, and {wanted!r} is right")


def collectives(folder: Path) -> None:
    """Sums, gathered parts and messages around a ring."""
    rank, size = dist.get_rank(), dist.get_world_size()
    for turn in range(60):
        count = (3, 20_000)[turn % 2]
        x = torch.full((count,), float(rank + turn))
        dist.all_reduce(x)
        expect(set(x.tolist()), {size * turn + size * (size - 1) / 2}, "a sum")
        parts = [torch.zeros(5) for _ in range(size)]
        dist.all_gather(parts, torch.full((5,), float(rank * turn)))
        expect([p.tolist() for p in parts], [[float(r * turn)] * 5 for r in range(size)], "a gather")
        got = torch.zeros(7)
        work = dist.isend(torch.full((7,), float(10 * rank + turn)), (rank + 1) % size)
        dist.recv(got, (rank - 1) % size)
        if work is not None:
            work.wait()
        expect(got.tolist(), [float(10 * ((rank - 1) % size) + turn)] * 7, "a message")


def data(rank: int, step: int) -> Any:
    return torch.tensor([[float((rank + step + place) % 3) for place in range(4)]] * 2)


def train(model: Any, weight: Any, inputs: Callable[[int], list[Any]]) -> None:
    """Steps whose numbers are so round that every order of summing is right."""
    for step in range(STEPS):
        weight.grad = None
        rows = inputs(step)
        loss = sum((model(x).sum() for x in rows), torch.zeros(())) * (1.0 / len(rows))
        loss.backward()
        with torch.no_grad():
            weight -= 0.25 * weight.grad


def ddp(folder: Path) -> None:
    """Ranks train together as one would train alone."""
    rank, size = dist.get_rank(), dist.get_world_size()
    alone = torch.nn.Linear(4, 1, bias=False)
    with torch.no_grad():
        alone.weight.fill_(1.0)
    together = torch.nn.Linear(4, 1, bias=False)
    with torch.no_grad():
        together.weight.fill_(1.0 if rank == 0 else 7.0)
    wrapped = DistributedDataParallel(together)
    train(wrapped, together.weight, lambda step: [data(rank, step)])
    train(alone, alone.weight, lambda step: [data(each, step) for each in range(size)])
    found, wanted = together.weight.tolist(), alone.weight.tolist()
    is_like = all(abs(a - b) <= 1e-5 for a, b in zip(found[0], wanted[0], strict=True))
    expect(is_like, True, f"that {found} is {wanted}")
    whole: list[Any] = [None] * size
    dist.all_gather_object(whole, found)
    expect(whole, [found] * size, "the weights of all ranks")


def resuming(folder: Path) -> None:
    """One checkpoint after the other, from where the last run came to. A loaded one is whole."""
    place, book = folder / "checkpoint", folder / "acknowledged"
    state = {"w": torch.zeros(64, 32), "b": torch.zeros(17), "step": 0}
    acknowledged = int(book.read_text()) if book.exists() else 0
    if (place / "index.json").exists():
        dcp.load(state, checkpoint_id=place)
    expect(state["step"] >= acknowledged, True, f"that step {state['step']} is {acknowledged} or later")
    for name in ("w", "b"):
        expect(set(state[name].flatten().tolist()), {float(state["step"])}, f"{name} of the checkpoint")
    dist.barrier()
    for step in range(state["step"] + 1, 13):
        for name in ("w", "b"):
            state[name].fill_(float(step))
        state["step"] = step
        dcp.save(state, checkpoint_id=place)
        if dist.get_rank() == 0:
            draft = folder / "acknowledged.new"
            draft.write_text(f"{step}")
            draft.rename(book)


def add(a: Any, b: int) -> Any:
    return a + b


def calls(folder: Path) -> None:
    """Remote calls around a ring."""
    rank, size = dist.get_rank(), dist.get_world_size()
    rpc.init_rpc(f"worker{rank}", rank=rank, world_size=size)
    for turn in range(30):
        to = f"worker{(rank + turn) % size}"
        futures = [rpc.rpc_async(to, add, args=(torch.full((4,), float(k)), turn)) for k in range(4)]
        expect(
            [future.wait().tolist() for future in futures],
            [[float(k + turn)] * 4 for k in range(4)],
            "the answer of a call",
        )
    rpc.shutdown()


PROGRAMS = {act.__name__: act for act in (collectives, ddp, resuming, calls)}


def run(name: str, folder: str) -> str:
    if dist.is_initialized():
        dist.barrier()
    (Path(folder) / "begun").touch()
    PROGRAMS[name](Path(folder))
    return "right"


def main(words: list[str]) -> None:
    name, address, size, folder = words
    logging.basicConfig()
    if int(size):
        said = torch.launch(run, int(size), address, args=(name, folder), timeout=TIMEOUT.total_seconds())
        expect(said, ["right"] * int(size), "what the ranks returned")
        print("right", flush=True)
        return
    dist.init_process_group(address.partition("://")[0], timeout=TIMEOUT)
    print(run(name, folder), flush=True)
    dist.destroy_process_group()


if __name__ == "__main__":
    main(sys.argv[1:])
