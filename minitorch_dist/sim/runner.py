"""`sim.run`: a launch over `sim://`, and an eye on its clock and its network."""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import replace
from datetime import timedelta
from functools import partial
from types import MethodType
from typing import TYPE_CHECKING, Any, TypeVar

from minitorch_dist.distributed import world
from minitorch_dist.distributed.journal import sheets
from minitorch_dist.distributed.mail import wire
from minitorch_dist.distributed.world import World
from minitorch_dist.launching import collector, launch
from minitorch_dist.sim import nets, run_arguments, topologies
from minitorch_dist.sim.batched_engine import MANY, BatchedEngine
from minitorch_dist.sim.declared import links_of
from minitorch_dist.sim.device_time import Devices, DeviceTime
from minitorch_dist.sim.hardship import Hardship
from minitorch_dist.sim.power import Power
from minitorch_dist.sim.report import RankReport, Report
from minitorch_dist.sim.stage import SimulationStage
from minitorch_dist.sim.timelines import Timelines
from minitorch_dist.sim.timelines.recorder import TimelineRecorder
from minitorch_dist.sim.timelines.timeline import RankTimeline
from minitorch_dist.tensors import ledger, pools
from minitorch_dist.tensors.shape_arrays import mode
from transports.errors import Overwritten
from transports.faults import plans
from transports.faults.plans import Fault
from transports.quantities import byte_time
from transports.virtual import medium
from transports.virtual.clock import VirtualClock, has_greenlets
from transports.virtual.fault_injector import FaultInjector, Plan
from transports.virtual.network import Network
from transports.virtual.topology import Topology

if TYPE_CHECKING:
    from minitorch_dist.sim.fold.folding import Fold

T = TypeVar("T")

ENDLESS = 60.0  # seconds
FOLDS = (
    "fold= lets one rank run the program for others. That needs shapes=True, since numbers differ from rank to "
    "rank, and a run without faults, hardships and a journal, which are of single ranks"
)
ENGINES = {"auto": MANY, "threads": None, "greenlet": None, "lockstep": 2, "closed": 2}


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
    adding: str | None = None,
    flops: float | str | None = None,
    speeds: Mapping[int, float] | None = None,
    journal: str | os.PathLike[str] | None = None,
    faults: Sequence[Fault | str] | Plan = (),
    hardships: str = "",
    events: int | None = None,
    memory: int | str | None = None,
    shapes: bool = False,
    device: Devices | None = None,
    fold: Fold = False,
    timelines: bool = False,
    prepared: Callable[[SimulationStage], None] | None = None,
) -> Report[T]:
    """Call `fn(*args, **kwargs)` on every rank of a simulated world, and report.

    `net` is a topology, a `Network` (which also says how sends behave), or an address such as
    "sim://?latency=2us&rate=100Gb/s". `seed` shuffles the order in which ranks run that could run
    at the same instant; without it, the rank that came first goes first. `timeout` is that of every operation
    (30 minutes of virtual time). If nothing can happen any more but that timeouts of at least
    `endless` seconds end, it is a deadlock; None lets them end. `limit` ends a run that goes on for
    longer than so many seconds. `adding`, a rate such as "8GB/s", lets reductions take time; `flops`
    is what a rank computes in a second (for `sim.compute(flops=…)`), and `speeds` are factors of
    ranks that compute faster (2.0) or slower (0.5) than others.

    `engine`: "threads", or "greenlet" (the same, faster), simulate message by message. "lockstep"
    does collectives for all ranks at once where that is exact; "auto" does so for groups of 64 ranks
    and more. `Report.engine_used` says what was done. `journal` names a file to write down what the
    ranks do (see `distributed.journal`). The first error of any rank is raised here.

    `faults` are what `drop`, `delay`, `partition`, `crash` and others make, or their texts; chances
    depend on `seed` (0 without one). They befall packets below a reliable transport; a `plan` may
    say that it is none (see `transports.virtual.fault_injector`). The result of a rank that was killed is None.
    `hardships` are letters of `sim.hardship`; after so many `events` it is a Livelock. With `memory`
    ("80GB") each rank has an accelerator of its own, `cuda`, with so much. An array that does not fit is
    refused. The report has each rank's `peak_bytes`. With `device` (`sim.gpu("H100-SXM")`, a name, a list, or a
    function of the rank) each operation on tensors takes the time that this device needs. Then `memory` is the
    device's; see `device_time`. With `shapes` all tensors that the program makes have a shape and no numbers,
    and messages have a length and no bytes. Times, bytes and peaks are the same. With `timelines` the report has
    what each rank did and when (`Report.timelines`, `Report.save_page`). `prepared` is called with the stage before
    anything happens on it.
    """
    run_arguments.check(
        fn,
        {
            "world_size": world_size, "args": args, "kwargs": kwargs, "seed": seed, "timeout": timeout,
            "endless": endless, "limit": limit, "events": events, "flops": flops, "speeds": speeds,
            "journal": journal, "faults": faults, "hardships": hardships,
        },
    )  # fmt: skip
    if strangers := sorted(rank for rank in speeds or {} if rank not in range(world_size)):
        raise ValueError(
            f"speeds= names rank {strangers[0]}, but the ranks are 0 to {world_size - 1}"
        )
    if fold:
        if not shapes or faults or hardships or journal is not None or prepared is not None:
            raise ValueError(FOLDS)
        from minitorch_dist.sim import fold as folding  # it calls us

        options: dict[str, Any] = {
            "net": net, "seed": seed, "timeout": timeout, "endless": endless, "limit": limit,
            "engine": engine, "adding": adding, "flops": flops, "speeds": speeds, "events": events,
            "memory": memory, "shapes": True, "device": device, "timelines": timelines,
        }  # fmt: skip
        return folding.run(run, fn, world_size, args, kwargs, fold, **options)
    if engine not in ENGINES:
        raise ValueError(f"there is no engine {engine!r}; there are {', '.join(ENGINES)}")
    own = "greenlet" if has_greenlets() else "threads"
    sim_threads = engine if engine in ("threads", "greenlet") else own
    gamma = 0 if adding is None else math.ceil(byte_time(adding))
    hardship = Hardship(hardships, seed or 0)
    order = hardship.order_seed() if hardships else seed
    clock = VirtualClock(order, endless, limit, sim_threads, events)
    given = nets.read(net) if isinstance(net, str) else net
    network = hardship.narrowed(given if isinstance(given, Network) else Network(given))
    topologies.check(network.topology, world_size)
    moving = medium.attach(clock, network)
    clock.chance_seed = seed or 0
    clock.power = Power(flops, speeds or {})
    links = links_of(network.topology, gamma)
    together = BatchedEngine(clock, moving, gamma, ENGINES[engine])
    ends: dict[int, tuple[int, int, int]] = {}
    peaks: dict[int, int] = {}
    stage = SimulationStage(clock, moving, world_size, hardship)
    plan = faults if isinstance(faults, Plan) else Plan(tuple(faults))  # type: ignore[arg-type]
    checked = tuple(plans.check(plan.faults, world_size))
    plan = replace(plan, faults=checked + hardship.faults(), unsaid=hardship.faults())
    if plan.faults:
        stage.injector = FaultInjector(moving, plan, seed or 0)
        stage.injector.match = lambda header: header[: wire.MATCH.size]
    hardship.befall(moving)
    if prepared is not None:
        prepared(stage)

    def equip(here: World) -> None:
        here.engine = together
        if here.links is None:
            here.links = links

    stage.entered.append(equip)
    computing = None if device is None else DeviceTime(clock, device, world_size)
    if computing is not None:
        moving.carried = computing.carried
    lines = None
    if timelines:
        if journal is not None:
            raise ValueError(
                "timelines= and journal= are two ways to write a run down; say one of them"
            )
        lines = tuple(RankTimeline(rank) for rank in range(world_size))
        stage.entered.append(partial(_note, lines, computing))

    bound = bound_to(fn, args, kwargs or {})

    def called() -> Any:
        if not shapes:
            return bound()
        with mode.without_numbers():
            return bound()

    def observed() -> Any:
        me, rank = clock.me(), world.place().given["rank"]
        try:
            room = memory if computing is None else memory or computing.streams[rank].device.memory
            if room is None:
                return stage.live(called)
            with pools.simulated(1, room):
                try:
                    return stage.live(called)
                finally:
                    peaks[rank] = ledger.of("cuda").snapshot().peak
        finally:
            ends[rank] = clock.now(), me.waited, me.slept
            if lines is not None:
                lines[rank].end = clock.now()

    # The report is made in here, too: what was made meanwhile is looked through when it is freed.
    with collector.shared(world_size):
        try:
            with (
                hardship.around_the_run(),
                nullcontext() if computing is None else computing.attached(),
            ):
                results = launch(
                    observed, world_size, "sim://", timeout=timeout, clock=clock, journal=journal
                )
        except Exception as error:
            if not isinstance(error, Overwritten) and (found := stage.overwritten()):
                error.add_note(f"and before that: {found}")
            raise
        if found := stage.overwritten():
            raise found
        ranks = []
        for rank in range(world_size):
            time, idle, busy = ends.get(rank, (0, 0, 0))
            count = moving.count(rank)
            ranks.append(
                RankReport(
                    rank, time, count.messages_sent, count.bytes_sent, count.messages_received,
                    count.bytes_received, idle, busy, peaks.get(rank),
                    None if computing is None else computing.streams[rank].use(time),
                    tuple(stage.marks.get(rank, ())),
                    None if moving.node_of is None else count.between_nodes,
                )
            )  # fmt: skip
        used = together.used()
        return Report(
            results, ranks, moving.digest, clock.switches, ", ".join([clock.engine, *used]),
            moving.crossings, sheets.wanted(journal), timelines=None if lines is None else Timelines(lines),
        )  # fmt: skip


def bound_to(
    fn: Callable[..., T], args: Sequence[Any], kwargs: Mapping[str, Any]
) -> Callable[[], T]:
    """`fn` with these arguments. A single one is bound as a method's `self` is, since Python calls methods without
    C's stack. Each waiting rank keeps its own part of that stack."""
    if kwargs or len(args) != 1 or args[0] is None:  # a method's `self` may not be None
        return partial(fn, *args, **kwargs) if args or kwargs else fn
    return MethodType(fn, args[0])


def _note(lines: Sequence[RankTimeline], devices: DeviceTime | None, here: World) -> None:
    """Let a rank write its timeline in its new world."""
    here.mailbox.recorder = TimelineRecorder(lines[here.rank], here.clock.now, devices)
