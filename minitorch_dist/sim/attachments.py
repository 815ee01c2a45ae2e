"""Things that attach to a run: devices, memory, timelines, faults, tensors without numbers, a journal.

    sim.run(fn, 8, net=net, with_=[sim.gpu("H100-SXM"), sim.timelines()])

An attachment is called with the stage before anything happens on it. It may change the stage. It may also return a
`RunPart`, which stands around the run and around each rank, and writes into the report. So a function of the stage is
an attachment, too.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass, replace
from typing import Any, TypeAlias, TypeVar

from minitorch_dist.distributed.mail import wire
from minitorch_dist.sim.device import Device
from minitorch_dist.sim.device_time import Devices, DeviceTime
from minitorch_dist.sim.report import Report
from minitorch_dist.sim.stage import SimulationStage
from minitorch_dist.tensors import ledger, pools
from minitorch_dist.tensors.ledger_report import Snapshot
from minitorch_dist.tensors.shape_arrays import mode
from transports.faults import plans
from transports.faults.plans import Fault
from transports.virtual.fault_injector import FaultInjector, Plan

T = TypeVar("T")


class RunPart:
    """The part of an attachment in one run. It redefines the methods that it needs."""

    def around_run(self) -> AbstractContextManager[None]:
        return nullcontext()

    def around_rank(self, rank: int) -> AbstractContextManager[None]:
        """Around all that a rank does, also after restarts."""
        return nullcontext()

    def called(self, function: Callable[[], T]) -> Callable[[], T]:
        """The rank's function, as it is to be called."""
        return function

    def of_rank(self, rank: int, time: int) -> dict[str, Any]:
        """Fields of the rank's report; it ended at `time`."""
        return {}

    def of_run(self) -> dict[str, Any]:
        """Fields of the report."""
        return {}


class OneOfItsKind:
    """An attachment of which a run takes one, and none of the kinds that it excludes."""

    kind = ""
    excludes: tuple[str, ...] = ()


class WayToRun(OneOfItsKind):
    """An attachment that makes the run in its own way, from runs without it."""

    def run(
        self,
        fn: Callable[..., T],
        world_size: int,
        args: Sequence[Any],
        kwargs: Mapping[str, Any] | None,
        attached: Sequence[Attachment],
        options: dict[str, Any],
    ) -> Report[T]:
        """`attached` is all that attaches, and `options` are the other keywords of `sim.run`."""
        raise NotImplementedError


Attachment: TypeAlias = "Device | WayToRun | Callable[[SimulationStage], RunPart | None]"


def attach(attachments: Sequence[Attachment], stage: SimulationStage) -> list[RunPart]:
    """Their parts, in this order."""
    acts: list[Any] = [OnDevice(each) if isinstance(each, Device) else each for each in attachments]
    return [part for act in acts if (part := act(stage)) is not None]


def demand_one_of_each(attachments: Sequence[Attachment]) -> None:
    """TypeError for what cannot attach, and ValueError for two of a kind."""
    for each in attachments:
        if isinstance(each, type):
            raise TypeError(f"with_= lists things, not classes: make one of {each.__name__}, as sim.timelines() does")
        if not isinstance(each, Device | OneOfItsKind) and not callable(each):
            raise TypeError(
                f"with_= lists what attaches to a run, such as sim.gpu(…), sim.timelines() or a function of the stage, "
                f"not {each!r}"
            )
    kinds = ["device" if isinstance(each, Device) else getattr(each, "kind", "") for each in attachments]
    found = Counter(filter(None, kinds))
    for each in attachments:
        if other := next((name for name in getattr(each, "excludes", ()) if found[name]), ""):
            raise ValueError(
                f"{other} does not go with {each.kind}: it is made for this library's tensors"  # type: ignore[union-attr]
            )
    if found["timelines"] and found["journal"]:
        raise ValueError("timelines and a journal are two ways to write a run down; say one of them")
    if twice := [name for name, count in found.items() if count > 1]:
        raise ValueError(
            f"one {twice[0]} attaches to a run, but {found[twice[0]]} were given, in with_= or by a keyword"
        )


# ----------------------------------------------------------------------- devices and memory


@dataclass(frozen=True)
class OnDevice(OneOfItsKind):
    """Each operation on tensors takes the time that this device needs, and its memory is each rank's `cuda`.

    Args:
        devices: A device, a name, a list of one for each rank, or a function of the rank.

    Example:
        >>> def step():
        ...     torch.ones(512, 512) @ torch.ones(512, 512)
        >>> sim.run(step, 2, with_=[sim.devices("h100")]).time > 0
        True
    """

    kind = "device"

    devices: Devices

    def __call__(self, stage: SimulationStage) -> RunPart:
        return DevicePart(stage, self.devices)


class DevicePart(RunPart):
    def __init__(self, stage: SimulationStage, devices: Devices) -> None:
        self.time = DeviceTime(stage.clock, devices, stage.world_size)
        stage.medium.carried = self.time.carried
        if stage.memory is None:
            stage.memory = lambda rank: self.time.streams[rank].device.memory

    def around_run(self) -> AbstractContextManager[None]:
        return self.time.attached()

    def of_rank(self, rank: int, time: int) -> dict[str, Any]:
        return {"device": self.time.streams[rank].use(time)}


@dataclass(frozen=True)
class WithMemory(OneOfItsKind):
    """Each rank has an accelerator of its own, `cuda`, with so much. An array that does not fit is refused.

    Args:
        room: The size, such as "80GB", or bytes.

    Example:
        >>> def program():
        ...     torch.ones(1 << 20, device="cuda")
        >>> sim.run(program, 1, with_=[sim.memory("1GB")]).ranks[0].peak_bytes
        4194304
    """

    kind = "memory"

    room: int | str

    def __call__(self, stage: SimulationStage) -> None:
        stage.memory = lambda rank: self.room


class RoomPart(RunPart):
    """The accelerator of each rank, if anything has said how much it holds, and the peak."""

    def __init__(self, stage: SimulationStage) -> None:
        self.stage, self.peaks = stage, dict[int, Snapshot]()

    @contextmanager
    def around_rank(self, rank: int) -> Iterator[None]:
        room = None if self.stage.memory is None else self.stage.memory(rank)
        if room is None:
            yield
            return
        with pools.simulated(1, room):
            try:
                yield
            finally:
                self.peaks[rank] = ledger.of("cuda").snapshot()

    def of_rank(self, rank: int, time: int) -> dict[str, Any]:
        held = self.peaks.get(rank)
        return {} if held is None else {"peak_bytes": held.peak, "peak_held": held.peak_by_category}


# ------------------------------------------------------------------------------ what is noted


@dataclass(frozen=True)
class WithJournal(OneOfItsKind):
    """The ranks write down what they do.

    Args:
        path: The file (see `distributed.journal`).

    Example:
        >>> import pathlib, tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     report = sim.run(dist.barrier, 2, with_=[sim.journal(pathlib.Path(folder) / "run.mtd")])
        ...     len(report.journal.messages)
        2
    """

    kind = "journal"

    path: str | os.PathLike[str]

    def __call__(self, stage: SimulationStage) -> None:
        stage.journal = self.path  # `launch` opens it


# ------------------------------------------------------------------------- faults and shapes


@dataclass(frozen=True)
class WithFaults(OneOfItsKind):
    """Faults attach to a run.

    Args:
        planned: Those that `drop`, `delay`, `partition`, `crash` and others make, or their texts, or a `Plan`.

    Example:
        >>> sim.run(dist.barrier, 2, with_=[sim.faults(["delay=1ms,src=0"])]).time
        1005000000
    """

    kind = "faults"

    planned: Sequence[Fault | str] | Plan

    def __call__(self, stage: SimulationStage) -> None:
        given, hardship = self.planned, stage.hardship
        plan = given if isinstance(given, Plan) else Plan(tuple(given))  # type: ignore[arg-type]
        checked = tuple(plans.check(plan.faults, stage.world_size))
        plan = replace(plan, faults=checked + hardship.faults(), unsaid=hardship.faults())
        if plan.faults:
            stage.injector = FaultInjector(stage.medium, plan, stage.clock.chance_seed)
            stage.injector.match = lambda header: header[: wire.MATCH.size]


@dataclass(frozen=True)
class WithShapes(OneOfItsKind):
    """All tensors that the program makes have a shape and no numbers, and messages a length and no bytes.

    Times, bytes and peaks are the same.

    Example:
        >>> def program():
        ...     return tuple(torch.ones(1 << 30, 1 << 10).shape)  # four TiB that take no memory
        >>> sim.run(program, 2, with_=[sim.shapes()]).results[0]
        (1073741824, 1024)
    """

    kind = "shapes"

    def __call__(self, stage: SimulationStage) -> RunPart:
        stage.has_shapes = True
        return ShapesPart()


class ShapesPart(RunPart):
    def called(self, function: Callable[[], T]) -> Callable[[], T]:
        def without_numbers() -> T:
            with mode.without_numbers():
                return function()

        return without_numbers
