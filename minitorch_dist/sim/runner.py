"""`sim.run`: its keywords, and what attaches to a run. The run itself is in `running`."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from datetime import timedelta
from typing import Any, TypeVar

from minitorch_dist import plugs
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

    `with_` lists what attaches to the run, such as `sim.gpu("H100-SXM")`, `sim.memory("80GB")`, `sim.timelines()`,
    `sim.faults([…])`, `sim.journal(path)`, `sim.shapes()` and `sim.folded()` (see `attachments`). The keywords of the same
    names below attach the same.

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
    and more; PyTorch's ranks are always threads. `Report.engine_used` says what was done. `journal` names a file to write down what the
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
