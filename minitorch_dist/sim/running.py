"""A simulated run: the clock, the network and the stage, a launch over `sim://`, and the report."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import replace
from datetime import timedelta
from functools import partial
from types import MethodType
from typing import Any, TypeVar

from minitorch_dist.distributed import world
from minitorch_dist.distributed.journal import files
from minitorch_dist.distributed.world import World
from minitorch_dist.launching import collector, launch
from minitorch_dist.sim import message_engine, nets, topologies
from minitorch_dist.sim.attachments import Attachment, RoomPart, RunPart, attach
from minitorch_dist.sim.hardship import Hardship
from minitorch_dist.sim.power import Power
from minitorch_dist.sim.report import RankReport, Report
from minitorch_dist.sim.stage import SimulationStage
from minitorch_dist.sim.topology_links import links_of
from transports.errors import Overwritten
from transports.quantities import byte_time
from transports.virtual import medium
from transports.virtual.clock import VirtualClock, has_greenlets
from transports.virtual.network import Network
from transports.virtual.topology import Topology

T = TypeVar("T")

MANY = 64  # ranks of a group, from which on `auto` does not send its messages one by one
ENGINES = {"auto": MANY, "threads": None, "greenlet": None, "lockstep": 2, "closed": 2}


def run_all(
    fn: Callable[..., T],
    world_size: int,
    args: Sequence[Any],
    kwargs: Mapping[str, Any] | None,
    attached: Sequence[Attachment] = (),
    *,
    net: Network | Topology | str,
    seed: int | None,
    timeout: timedelta | float | None,
    endless: float | None,
    limit: float | None,
    engine: str,
    adding: str | None,
    flops: float | str | None,
    speeds: Mapping[int, float] | None,
    events: int | None,
    hardships: str,
    has_threads: bool = False,
) -> Report[T]:
    """Every rank runs `fn`. The arguments are those of `sim.run`; `has_threads` if ranks have to be threads."""
    if engine not in ENGINES:
        raise ValueError(f"there is no engine {engine!r}; there are {', '.join(ENGINES)}")
    own = "greenlet" if has_greenlets() and not has_threads else "threads"
    sim_threads = engine if engine in ("threads", "greenlet") else own
    gamma = 0 if adding is None else math.ceil(byte_time(adding))
    hardship = Hardship(hardships, seed or 0)
    clock = VirtualClock(hardship.order_seed() if hardships else seed, endless, limit, sim_threads, events)
    given = nets.read(net) if isinstance(net, str) else net
    network = hardship.narrowed(given if isinstance(given, Network) else Network(given))
    topologies.check(network.topology, world_size)
    moving = medium.attach(clock, network)
    clock.chance_seed = seed or 0
    clock.power = Power(flops, speeds or {})
    together = message_engine.of_run(clock, moving, gamma, ENGINES[engine])
    stage = SimulationStage(clock, moving, world_size, hardship)
    hardship.apply_to(moving)
    parts = attach(attached, stage)
    if stage.memory is not None:
        parts.append(RoomPart(stage))
    stand_around = [part for part in parts if type(part).around_rank is not RunPart.around_rank]
    links = links_of(network.topology, gamma)

    def equip(here: World) -> None:
        here.engine = together
        if here.links is None:
            here.links = links

    stage.entered.append(equip)
    function = bound_to(fn, args, kwargs or {})
    for part in parts:
        function = part.called(function)
    ends: dict[int, tuple[int, int, int]] = {}

    def observed() -> Any:
        me, rank = clock.me(), world.place().given["rank"]
        try:
            if not stand_around:  # each frame takes room, and there may be 100,000 ranks
                return stage.live(function)
            with ExitStack() as around:
                for part in stand_around:
                    around.enter_context(part.around_rank(rank))
                return stage.live(function)
        finally:
            ends[rank] = clock.now(), me.waited, me.slept

    # The report is made in here, too: what was made meanwhile is looked through when it is freed.
    with collector.shared(world_size):
        try:
            with ExitStack() as around:
                around.enter_context(hardship.around_the_run())
                for part in parts:
                    around.enter_context(part.around_run())
                results = launch(observed, world_size, "sim://", timeout=timeout, clock=clock, journal=stage.journal)
        except Exception as error:
            if not isinstance(error, Overwritten) and (found := stage.overwritten()):
                error.add_note(f"and before that: {found}")
            raise
        if found := stage.overwritten():
            raise found
        ranks = [_report_of(stage, rank, ends.get(rank, (0, 0, 0)), parts) for rank in range(world_size)]
        used = ", ".join([clock.engine, *together.used()])
        report = Report(results, ranks, moving.digest, clock.switches, used, moving.crossings)
        fields: dict[str, Any] = {"recorded": files.wanted(stage.journal)}
        for part in parts:
            fields |= part.of_run()
        return replace(report, **fields)


def _report_of(stage: SimulationStage, rank: int, end: tuple[int, int, int], parts: Sequence[RunPart]) -> RankReport:
    (time, idle, busy), count = end, stage.medium.count(rank)
    fields: dict[str, Any] = {}
    for part in parts:
        fields |= part.of_rank(rank, time)
    return RankReport(
        rank,
        time,
        count.messages_sent,
        count.bytes_sent,
        count.messages_received,
        count.bytes_received,
        idle,
        busy,
        marks=tuple(stage.marks.get(rank, ())),
        between_nodes=None if stage.medium.node_of is None else count.between_nodes,
        **fields,
    )


def bound_to(fn: Callable[..., T], args: Sequence[Any], kwargs: Mapping[str, Any]) -> Callable[[], T]:
    """`fn` with these arguments. A single one is bound as a method's `self` is, since Python calls methods without
    C's stack. Each waiting rank keeps its own part of that stack."""
    if kwargs or len(args) != 1 or args[0] is None:  # a method's `self` may not be None
        return partial(fn, *args, **kwargs) if args or kwargs else fn
    return MethodType(fn, args[0])
