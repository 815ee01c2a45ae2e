"""The tools of the check of elastic training: the same rules in the library's world, and a picture."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product
from types import ModuleType
from typing import Any

import minitorch_dist.distributed as dist
from minitorch_dist import sim
from minitorch_dist.nn.parallel import DistributedDataParallel
from minitorch_dist.optim import SGD
from minitorch_dist.tensors.core.base import Array
from minitorch_dist.tensors.makers.creation import tensor
from minitorch_dist.testing import exact
from minitorch_dist.testing.replicas import Steps, unlike_steps
from mtd.course.cluster import Cluster

INSTANTS = ("0.5ms", "1.2ms", "2.1ms", "3.5ms")  # a step takes one, a message 5 µs
RESTARTS = ("4ms", "5s")  # before anybody has noticed, and long after


class _Machine:
    """An office asks who comes; here nobody dies in it."""

    rank = 0

    def act(self, what: str) -> None: ...


def in_the_library(
    rules: ModuleType, batches: Sequence[exact.Data], wanted: list[Array], alone: Steps, size: int = 3
) -> None:
    """DDP under the simulator's crashes; AssertionError if it does not end with the wanted weights, by the
    steps that one rank `alone` takes.

    `rules` has Office and first_step: the office outlives the ranks.
    """
    for victim, at, restart in product(range(size), INSTANTS, RESTARTS):
        office = rules.Office(exact.weights(exact.Model(hidden=4)))
        steps: list[Steps] = []

        def fit(office: Any = office) -> list[Array]:
            rank = dist.get_rank()
            if rank == 0:
                office.generation += 1
            number = tensor([office.generation])
            dist.broadcast(number, 0)
            model = exact.Model(hidden=4)
            for p, value in zip(model.parameters(), office.checkpoint.weights, strict=True):
                p.array[...] = value
            replica = DistributedDataParallel(model)
            optimizer = SGD(model.parameters(), lr=exact.RATE)
            for step in range(rules.first_step(office.checkpoint), len(batches)):
                sim.compute("1ms")
                exact.step(replica, optimizer, batches[step].shares(size)[rank], ranks=size)
                office.save(_Machine(), int(number.item()), step, exact.weights(model))
            dist.barrier()
            return exact.weights(model)

        def program(fit: Any = fit, steps: Any = steps) -> Any:
            while True:
                if not dist.is_initialized():
                    dist.init_process_group()
                try:
                    with exact.watched() as seen:
                        steps.append(seen)
                        return fit()
                except (dist.PeerLost, rules.Outdated):
                    dist.destroy_process_group()

        fault = sim.crash(victim, at=at, restart=restart)
        for rank, found in enumerate(sim.run(program, size, net="sim://?latency=5us", faults=[fault]).results):
            if not exact.same(found, wanted):
                raise AssertionError(
                    f"rank {victim} was killed after {at} and came back after {restart}: rank {rank} ends with other "
                    "weights than one rank alone"
                )
        unlike = unlike_steps(("w1", "b1", "w2", "b2"), alone, steps, is_whole=False)
        if unlike:
            raise AssertionError(f"rank {victim} was killed after {at} and came back after {restart}: {unlike}")


COLUMN = 0.1  # seconds
STATES = {"joins": "·", "dies": " ", "starts again": "·", "stands still": "~"}


def lanes(cluster: Cluster) -> str:
    """A line for each machine: the digit of its generation, and what else it was doing."""
    end = max(event.at for event in cluster.events) / 1e12
    columns = int(end / COLUMN) + 1
    lines = []
    for machine in cluster.machines:
        row, state, at = "", "·", 0
        generation = "·"
        for event in cluster.events:
            if event.rank != machine.rank:
                continue
            place = int(event.at / 1e12 / COLUMN)
            row += state * (place - at)
            at = max(at, place)
            if event.what.startswith("is in generation"):
                generation = state = event.what.split()[3][-1]
            else:
                state = generation if event.what == "goes on" else STATES.get(event.what, state)
            if event.what == "dies":
                row, at = row + "✗", at + 1
        lines.append(f"machine {machine.rank}  {(row + state)[:columns]}".rstrip())
    ruler = "".join(f"{second} s".ljust(10) for second in range(columns // 10 + 1))
    return "\n".join(
        [*lines, f"{'':11}{ruler}".rstrip(), "", "digits: generation   ·: joins   ✗: dies   ~: stands still"]
    )
