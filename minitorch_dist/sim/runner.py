"""`sim.run`: a launch over `sim://`, and an eye on its clock and its network."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from datetime import timedelta
from typing import Any, TypeVar

from minitorch_dist.distributed import world
from minitorch_dist.launching import launch
from minitorch_dist.sim.declared import links_of
from minitorch_dist.sim.report import RankReport, Report
from transports import medium
from transports.medium import Network
from transports.topology import Topology
from transports.virtual_clock import VirtualClock, has_greenlets

T = TypeVar("T")

ENDLESS = 60.0  # seconds


def run(
    fn: Callable[..., T],
    world_size: int,
    args: Sequence[Any] = (),
    kwargs: Mapping[str, Any] | None = None,
    *,
    net: Network | Topology | str = "sim://",
    seed: int | None = None,
    timeout: timedelta | float | None = None,
    endless: float | None = ENDLESS,
    limit: float | None = None,
    engine: str = "auto",
    journal: str | os.PathLike[str] | None = None,
) -> Report[T]:
    """Call `fn(*args, **kwargs)` on every rank of a simulated world, and report.

    `net` is a topology, a `Network` (which also says how sends behave), or an address such as
    "sim://?latency=2us&rate=100Gb/s". `seed` shuffles the order in which ranks run that could run
    at the same instant; without it, who came first goes first. `timeout` is that of every operation
    (30 minutes of virtual time). If nothing can happen any more but that timeouts of at least
    `endless` seconds end, it is a deadlock; None lets them end. `limit` ends a run that goes on for
    longer than so many seconds. `journal` names a file to write down what the ranks do (see
    `distributed.journal`). The first error of any rank is raised here.
    """
    strands = engine if engine != "auto" else "greenlet" if has_greenlets() else "threads"
    clock = VirtualClock(seed, endless, limit, strands)
    found = Network.parse(net) if isinstance(net, str) else net
    network = found if isinstance(found, Network) else Network(found)
    moving = medium.attach(clock, network)
    links = links_of(network.topology)
    ends: dict[int, tuple[int, int, int]] = {}

    def observed() -> T:
        if links is not None:
            world.current().extras.setdefault("links", links)
        try:
            return fn(*args, **kwargs or {})
        finally:
            me = clock.me()
            ends[world.current().rank] = clock.now(), me.waited, me.slept

    results = launch(observed, world_size, "sim://", timeout=timeout, clock=clock, journal=journal)
    ranks = []
    for rank in range(world_size):
        time, idle, busy = ends[rank]
        count = moving.count(rank)
        ranks.append(
            RankReport(
                rank, time, count.messages_sent, count.bytes_sent, count.messages_received,
                count.bytes_received, idle, busy,
            )
        )  # fmt: skip
    return Report(results, ranks, moving.digest, clock.switches)
