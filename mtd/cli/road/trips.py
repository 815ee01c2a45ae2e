"""The calls whose path is kept short: `TRIPS`, and for each the longest path that it may take.

A trip that needs two ranks is made over tcp, by two processes. Rank 0 begins when the other rank can do no
more without it. So rank 0 finds the messages there that it would wait for. It still waits for answers;
see `Trip.shortest_roads`.
"""

from __future__ import annotations

import itertools
import tomllib
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final, NamedTuple

import minitorch_dist as torch
import minitorch_dist.distributed as dist
from minitorch_dist import launching, nn
from minitorch_dist.distributed import rpc, world
from minitorch_dist.distributed.fsdp import FullyShardedDataParallel
from minitorch_dist.nn.parallel import DistributedDataParallel
from mtd.cli.road.counting import Road, follow

CALLS = 60  # of which some wait for their answer, and take in nothing else
STORIES: Final[dict[str, str]] = tomllib.loads(Path(__file__).with_name("stories.toml").read_text("utf-8"))
_numbers = itertools.count()  # of the calls that are followed; the same on all ranks


class Limit(NamedTuple):
    """How long a path may be, a loop of waiting included; `goal` is what it is meant to become."""

    files: int
    lines: int
    goal_files: int
    goal_lines: int

    def holds(self, road: Road) -> bool:
        return len(road.files) <= self.files and road.lines <= self.lines


class Trip(NamedTuple):
    """`follow` makes the calls on each rank and returns the path of each, by the names in `limits`."""

    name: str
    title: str
    follow: Callable[[], dict[str, Road]]
    limits: dict[str, Limit]
    ranks: int = 2

    def roads(self) -> dict[str, Road]:
        """Those of rank 0."""
        return self.follow() if self.ranks == 1 else launching.launch(self.follow, self.ranks, "tcp://")[0]

    def shortest_roads(self, worlds: int = 100) -> dict[str, Road]:
        """Of each call the shortest path. A rank that waits enters more functions, and chance decides whether it waits;
        so the calls are repeated, in so many worlds at the most, until each path is within its limit."""
        best = self.roads()
        for _ in range(worlds - 1):
            if all(self.limits[title].holds(road) for title, road in best.items()):
                break
            again = self.roads()
            best = {title: min(road, again[title], key=lambda one: one.lines) for title, road in best.items()}
        return best


# ------------------------------------------------------------------------------ one process


def backward() -> dict[str, Road]:
    a, b = torch.ones(3, requires_grad=True), torch.ones(3, requires_grad=True)
    return {"backward": _second(lambda: (a * b).sum().backward())}


def training_step() -> dict[str, Road]:
    model, loss_function = nn.Linear(4, 3), nn.CrossEntropyLoss()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    inputs, labels = torch.ones(5, 4), torch.tensor([0, 1, 2, 0, 1])

    def call() -> None:
        optimizer.zero_grad()
        loss_function(model(inputs), labels).backward()
        optimizer.step()

    return {"step": _second(call)}


def _second(call: Callable[[], object]) -> Road:
    call()
    return follow(call)


# ------------------------------------------------------------------------------- two ranks


def all_reduce() -> dict[str, Road]:
    tensor = torch.ones(10)
    calls = "all_reduce, first call", "all_reduce, second call"
    return {title: _late(lambda: dist.all_reduce(tensor)) for title in calls}


def send() -> dict[str, Road]:
    tensor, other = torch.ones(10), 1 - dist.get_rank()
    road = _late(lambda: dist.send(tensor, other))
    dist.recv(tensor, other)
    return {"send": road}


def ddp_backward() -> dict[str, Road]:
    model = DistributedDataParallel(nn.Linear(4, 3))
    inputs = torch.ones(5, 4)
    _, road = [_late(model(inputs).sum().backward) for _ in range(2)]
    return {"DDP's backward, second step": road}


def fsdp_forward() -> dict[str, Road]:
    model = FullyShardedDataParallel(nn.Linear(4, 3))
    inputs = torch.ones(5, 4)
    return {f"FSDP's forward, {which}": _late(lambda: model(inputs)) for which in ("first", "second")}


def rpc_sync() -> dict[str, Road]:
    rank, road = dist.get_rank(), Road([])
    rpc.init_rpc(f"worker{rank}", rank=rank, world_size=2)
    if rank == 0:
        _, *roads = [follow(lambda: rpc.rpc_sync("worker1", abs, (-1,))) for _ in range(1 + CALLS)]
        # A call whose answer another thread took in is half as long, and one that takes in other messages is longer.
        drives = [one for one in roads if any(f.name == "RpcFuture._drive" for f in one.functions)]
        road = min(drives or roads, key=lambda one: one.lines)
    rpc.shutdown()
    return {"rpc_sync, the caller's side": road}


TRIPS = {
    trip.name: trip
    for trip in (
        Trip("backward", "`(a * b).sum().backward()`", backward, {"backward": Limit(5, 267, 5, 260)}, 1),
        Trip("step", "a training step: `Linear`, `cross_entropy`, `SGD`", training_step,
             {"step": Limit(14, 530, 14, 620)}, 1),
        Trip("all_reduce", "`dist.all_reduce(tensor)` over tcp", all_reduce,
             {"all_reduce, first call": Limit(28, 1100, 28, 1100),
              "all_reduce, second call": Limit(15, 500, 14, 500)}),
        Trip("send", "`dist.send(tensor, 1)` over tcp", send, {"send": Limit(11, 220, 11, 220)}),
        Trip("ddp", "`loss.backward()` under `DistributedDataParallel`, over tcp", ddp_backward,
             {"DDP's backward, second step": Limit(20, 860, 20, 900)}),
        Trip("fsdp", "`model(inputs)` under `FullyShardedDataParallel`, over tcp", fsdp_forward,
             {"FSDP's forward, first": Limit(24, 650, 24, 900),
              "FSDP's forward, second": Limit(12, 285, 12, 300)}),
        Trip("rpc_sync", "`rpc.rpc_sync(\"worker1\", abs, (-1,))` over tcp", rpc_sync,
             {"rpc_sync, the caller's side": Limit(14, 520, 14, 420)}),
    )
}  # fmt: skip


def _late(call: Callable[[], object]) -> Road:
    """Rank 0 makes the call when the other rank waits for it or is done, and its path is recorded."""
    here, came = world.current(), f"road/{next(_numbers)}"
    if here.rank == 0:
        here.store.wait([came])
        return follow(call)
    transport: Any = here.transport
    progress = transport.progress

    def tell_and_wait(seconds: float | None, done: Any = None) -> bool:
        if seconds != 0:
            here.store.set(came, b"")
        return bool(progress(seconds, done))

    transport.progress = tell_and_wait
    try:
        call()
    finally:
        transport.progress = progress
        here.store.set(came, b"")  # it may have needed nobody
    return Road([])
