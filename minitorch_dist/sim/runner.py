"""`sim.run`: its keywords, and what attaches to a run. The run itself is in `running`."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from datetime import timedelta
from typing import Any, TypeVar

from minitorch_dist.inventory import plugs
from minitorch_dist.sim import attachments, run_arguments
from minitorch_dist.sim.attachments import (
    Attachment,
    OnDevice,
    WayToRun,
    WithFaults,
    WithJournal,
    WithMemory,
    WithShapes,
)
from minitorch_dist.sim.device_time import Devices
from minitorch_dist.sim.report import Report
from minitorch_dist.sim.running import run_all
from minitorch_dist.sim.stage import SimulationStage
from minitorch_dist.sim.torch_programs import uses_torch
from transports.faults.plans import Fault
from transports.virtual.fault_injector import Plan
from transports.virtual.network import Network
from transports.virtual.topology import Topology

T = TypeVar("T")

ENDLESS = 60.0  # seconds


def run(
    fn: Callable[..., T],
    world_size: int,
    args: Sequence[Any] = (),
    kwargs: Mapping[str, Any] | None = None,
    *,
    with_: Sequence[Attachment] = (),
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
    fold: Any = False,
    timelines: bool = False,
    prepared: Callable[[SimulationStage], None] | None = None,
) -> Report[T]:
    """Call `fn(*args, **kwargs)` on every rank of a simulated world, and report.

    Args:
        fn: The function that every rank calls.
        world_size: How many ranks there are.
        args: Its positional arguments.
        kwargs: Its keyword arguments.
        with_: A list of parts that attach to the run, such as `sim.gpu("H100-SXM")`, `sim.timelines()`, `sim.faults([…])` (see `attachments`).
            The keywords of the same names below attach the same.
        net: A topology, a `Network` (which also says how sends behave), or an address such as "sim://?latency=2us&rate=100Gb/s".
        seed: Shuffles the ranks that could run at the same instant; without it, the rank that came first goes first.
        timeout: The time limit of every operation, 30 minutes of virtual time by default.
        endless: If only timeouts of at least so many seconds are left, it is a deadlock; None lets them end.
        limit: Ends a run that goes on for longer than so many seconds.
        engine: `"threads"` or `"greenlet"` simulate message by message. `"lockstep"` does collectives for all ranks at once,
            where that is exact. `"auto"` does so for groups of 64 ranks and more.
        adding: A rate such as "8GB/s", at which reductions take time.
        flops: The operations that a rank computes in a second, for `sim.compute(flops=…)`.
        speeds: Factors of ranks that compute faster (2.0) or slower (0.5) than others.
        journal: A file in which to write down what the ranks do (see `distributed.journal`).
        faults: Those that `drop`, `delay`, `partition`, `crash` and others make, or their texts; a Plan may say that the transport is
            unreliable. The result of a rank that was killed is None.
        hardships: Letters of `sim.hardship`.
        events: After so many events the run is a Livelock.
        memory: Each rank has an accelerator of its own, `cuda`, with so much, such as "80GB".
        shapes: Tensors have a shape and no numbers, and messages a length and no bytes. Times, bytes and peaks are the same.
        device: A device, a name, a list, or a function of the rank: operations take the time that it needs (see `device_time`).
        fold: One rank runs the program for all that do the same; it needs shapes.
        timelines: The report has what each rank did and when (`Report.timelines`, `Report.save_page`).
        prepared: Called with the stage before anything happens on it.

    Returns:
        A Report: results by rank, the time in picoseconds, messages, bytes, and each rank's use of its time.

    Raises:
        Deadlock: All ranks wait, and nothing is under way; the text has the circle.
        Livelock: There were more than `events` events.
        Exception: The first error of any rank.

    Example:
        >>> def program():
        ...     sim.compute("3ms")
        ...     dist.all_reduce(torch.ones(1000))
        >>> report = sim.run(program, 4, net=sim.uniform("1us", "1GB/s"))
        >>> report.time, report.messages
        (3010000000, 16)
    """
    run_arguments.check(
        fn,
        {
            "world_size": world_size, "args": args, "kwargs": kwargs, "with_": with_, "seed": seed, "timeout": timeout,
            "endless": endless, "limit": limit, "events": events, "flops": flops, "speeds": speeds,
            "journal": journal, "faults": faults, "hardships": hardships,
        },
    )  # fmt: skip
    if strangers := sorted(rank for rank in speeds or {} if rank not in range(world_size)):
        raise ValueError(f"speeds= names rank {strangers[0]}, but the ranks are 0 to {world_size - 1}")
    attached: list[Any] = [*with_]
    if faults or not any(isinstance(each, WithFaults) for each in with_):
        attached.append(WithFaults(faults))  # also without any: hardships bring their own
    if prepared is not None:
        attached.append(prepared)
    said: Any = (journal, WithJournal), (memory, WithMemory), (device, OnDevice)
    attached += [kind(given) for given, kind in said if given is not None]
    if timelines:
        attached.append(plugs.find("timelines").WithTimelines())
    if shapes:
        attached.append(WithShapes())
    is_torchs = any(getattr(each, "kind", "") == "pytorch" for each in attached)
    has_threads = engine != "greenlet" and (is_torchs or uses_torch(fn))  # torch keeps its state by thread
    if has_threads:
        attached += [] if is_torchs else [plugs.find("pytorch").WithPyTorch()]
    if fold:
        attached.append(plugs.find("fold").WithFolding(fold))
    attachments.demand_one_of_each(attached)
    options: dict[str, Any] = {
        "net": net, "seed": seed, "timeout": timeout, "endless": endless, "limit": limit, "engine": engine,
        "adding": adding, "flops": flops, "speeds": speeds, "events": events, "hardships": hardships,
        "has_threads": has_threads,
    }  # fmt: skip
    for way in attached:
        if isinstance(way, WayToRun):
            return way.run(fn, world_size, args, kwargs, attached, options)
    return run_all(fn, world_size, args, kwargs, attached, **options)
