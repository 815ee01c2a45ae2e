"""The stage of one simulated run: it carries out crashes and restarts, and notes what went wrong.

    observed function ──► Stage.live ──► the user's function
                             │  killed: unwind; wait for the restart, and call it again, without a world
                             └─ failed: note which rank, which event, and what all were doing

A killed rank leaves like a killed process: nothing that its `finally` blocks do reaches the others.
Started again it has no world. `init_process_group()` makes the next one together with those who left
theirs, which is what elastic training does: a function that begins with it serves both times.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple, TypeVar

from minitorch_dist.distributed import bootstrap, world
from minitorch_dist.distributed.world import World
from minitorch_dist.launching import package_threads
from minitorch_dist.sim import scene
from minitorch_dist.sim.arrival_order import ArrivalOrder
from minitorch_dist.sim.hardship import Hardship
from minitorch_dist.tensors import generator
from minitorch_dist.tensors.generator import Generator
from transports.errors import Deadlock, DistError, Overwritten
from transports.faults.plans import Crash
from transports.quantities import in_words
from transports.stores.store import PrefixStore
from transports.virtual.clock import VirtualClock
from transports.virtual.fault_injector import FaultInjector
from transports.virtual.medium import Medium
from transports.virtual.sim_thread import Stopped

T = TypeVar("T")


@dataclass(frozen=True)
class Fall:
    """The first error that left a rank's function."""

    rank: int
    error: BaseException
    event: int  # how many had happened in the simulation
    at: int
    scene: str  # what all ranks were doing

    def __str__(self) -> str:
        return f"{type(self.error).__name__} in rank {self.rank} at {in_words(self.at)}, after event {self.event}"


class PlaceAtBegin(NamedTuple):
    """A rank's place before its function was called: a killed rank begins with it again."""

    at_end: tuple[Callable[[], None], ...]
    interrupts: tuple[Callable[[], None], ...]
    random_state: Generator

    @staticmethod
    def of(place: world.WorldScope) -> PlaceAtBegin:
        state = generator.current().clone_state()
        return PlaceAtBegin(tuple(place.at_end), tuple(place.interrupts), state)

    def restore(self, place: world.WorldScope) -> None:
        place.at_end, place.interrupts = list(self.at_end), list(self.interrupts)
        place.rpc_agent = None
        generator.install(self.random_state.clone_state())


class SimulationStage:
    """Of one run. `injector` is None where nothing was planned."""

    def __init__(self, clock: VirtualClock, medium: Medium, world_size: int, hardship: Hardship) -> None:
        self.clock, self.medium, self.world_size = clock, medium, world_size
        self.hardship = hardship
        self.entered: list[Callable[[World], None]] = [hardship.visit]  # called with each new world
        self.injector: FaultInjector | None = None
        self.memory: Callable[[int], int | str | None] | None = None  # of each rank's accelerator
        self.has_shapes = False  # tensors have a shape and no numbers
        self.is_recorded = False  # ranks run programs for others (see `mtd.planning.fold`)
        self.journal: str | os.PathLike[str] | None = None  # where the ranks write down what they do
        self.worlds: dict[int, World] = {}  # of each rank, the latest
        self.returned: dict[int, int] = {}  # when
        self.raised: dict[int, BaseException] = {}
        self.restarts: dict[int, int] = {}
        self.fall: Fall | None = None
        self.sometimes: dict[str, bool] = {}
        self.marks: dict[int, list[tuple[str, int]]] = {}  # by rank: names, and when
        self.visit = self.enter  # one for all ranks
        self.arrivals = ArrivalOrder(clock)
        self.entered.append(self.arrivals.enter)
        clock.stage = self
        clock.cause = self.cause
        clock.remark = self.remark
        self.given: dict[int, dict[str, Any]] = {}  # by rank: what was given to it

    def remark(self, rank: int) -> str:
        """Words about a rank for a deadlock's report, beside those about its wait."""
        said = scene.last_sent(self, rank), package_threads.outside(self.given.get(rank, {}))
        return "; ".join(filter(None, said))

    def live(self, function: Callable[[], T]) -> T | None:
        """Call it as this rank, and again after each restart; None if the rank was killed for good."""
        place = world.place()
        rank = place.given["rank"]
        begin = None if self.injector is None else PlaceAtBegin.of(place)
        place.given["visit"] = self.visit  # worlds that are made later
        self.given[rank] = place.given
        self.enter(world.current())
        late = self.hardship.begins_after(rank)
        while True:
            try:
                if late:
                    self.clock.pause(late)
                result = _called(function)
                if not self._is_killed(rank):
                    bootstrap.part(place)
                    self.returned[rank] = self.clock.now()
                    return result
            except BaseException as error:
                if not self._is_killed(rank):
                    if not isinstance(error, Stopped):
                        self._fell(rank, error)
                    raise
            crash = self._bury(rank, place)
            if crash.restart is None:
                return None
            self.clock.pause(crash.restart - self.clock.now())
            self._begin_again(rank)
            assert begin is not None, "only an injector kills"
            begin.restore(place)

    def enter(self, here: World) -> None:
        """A rank has a new world."""
        self.worlds[here.rank] = here
        for visit in self.entered:
            visit(here)

    def _is_killed(self, rank: int) -> bool:
        return self.injector is not None and rank in self.injector.down

    def _bury(self, rank: int, place: world.WorldScope) -> Crash:
        """Clean up after a killed process: the store learns that its place is free."""
        assert self.injector is not None
        self.clock.revive()
        here, place.world = place.world, None
        place.given.pop("fresh", None)
        if here is not None:
            root = PrefixStore("default_pg", place.given["store"])
            root.set(f"left/{rank}/{here.identity}", b"")
        return self.injector.crashed[rank]

    def _begin_again(self, rank: int) -> None:
        """Here is a process again, which can be killed."""
        assert self.injector is not None
        self.injector.down.discard(rank)
        self.restarts[rank] = self.restarts.get(rank, 0) + 1

    def _fell(self, rank: int, error: BaseException) -> None:
        self.raised[rank] = error
        if self.fall is None:
            words = scene.describe(self)
            self.fall = Fall(rank, error, self.clock.happened, self.clock.now(), words)
            self.tell(error)
            if isinstance(error, DistError) and not isinstance(error, Deadlock):
                cause = scene.cause(self)  # a deadlock has said it already
                if cause:
                    error.add_note(cause)

    def overwritten(self) -> Overwritten | None:
        """The first send, if there is one, whose tensor was written to before it was over."""
        for message in self.medium.overwritten[:1]:
            rank = message.src.rank
            return Overwritten(rank, f"i{self.worlds[rank].mailbox.said(message.header)}")
        return None

    def tell(self, error: BaseException) -> None:
        """Let an error say what came first in this run, if the program left that to times."""
        words = str(self.arrivals)
        if words:
            error.add_note(words)

    def cause(self) -> str:
        """Why nobody gets any further, as far as what the ranks called tells."""
        return scene.cause(self)

    def __repr__(self) -> str:
        return f"<Stage of {self.world_size} ranks, {len(self.returned)} returned, fall: {self.fall}>"


def _called(function: Callable[[], T]) -> T | None:
    """Its result. `sys.exit()` is an end like any other, of this rank alone."""
    try:
        return function()
    except SystemExit as end:
        if end.code not in (None, 0):
            raise
        return None


def here() -> SimulationStage | None:
    """The stage that the caller is on; None in real time."""
    clock: Any = world.place().clock
    found = clock.stage if isinstance(clock, VirtualClock) else None
    assert found is None or isinstance(found, SimulationStage)
    return found
