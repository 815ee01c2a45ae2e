"""One rank of each class replays, and its clock is that of the whole class (see `classes`).

    a world of as many ranks as there are classes
    its groups: the classes that are in a group          its messages: one for those of all ranks of a class

All else is as in a replay of all ranks: the same clock, ports, and ways.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from typing import Any

from minitorch_dist.distributed import world
from minitorch_dist.distributed.execution.operations import CollectiveOperation
from minitorch_dist.distributed.groups import ProcessGroup
from minitorch_dist.distributed.prepared import PreparedCall
from minitorch_dist.sim import nets
from minitorch_dist.sim.device_time import spread
from minitorch_dist.sim.fast import payloadless
from minitorch_dist.sim.fast.pending_collective import LightCollectives
from minitorch_dist.sim.report import Report
from minitorch_dist.sim.stage import SimulationStage
from minitorch_dist.sim.topologies import Rails
from mtd.planning.fold import acts
from mtd.planning.fold.classes import SAME_NODE, CollectiveOfClasses, NotAlike, RankClasses
from mtd.planning.fold.replayed_device import is_at_full_speed
from mtd.planning.fold.replaying import Peer, Replayer, own_parts
from mtd.planning.fold.trace import OperationTrace
from mtd.planning.fold.undisturbed import ActsTogether, ActsUnderWay, CollectiveAlone
from transports.clock import PICO
from transports.virtual.clock import VirtualClock
from transports.virtual.medium import Medium, Way
from transports.virtual.network import Network
from transports.virtual.topology import Route, Topology, TwoLevel, Uniform


class ClassReplay:
    """The replay of one recording by one rank of each class."""

    def __init__(
        self, size: int, trace_of: Callable[[int], OperationTrace], peer: Peer, options: Mapping[str, Any]
    ) -> None:
        """Of the traces of so many ranks. NotAlike if the ranks of this program do not fall into classes."""
        net = options["net"]
        given = nets.read(net) if isinstance(net, str) else net
        self.network = given if isinstance(given, Network) else Network(given)
        limits = self.network.eager, self.network.window, self.network.rendezvous
        if limits != (None, None, None):
            raise NotAlike("sends wait for their receiver")
        if options["adding"] is not None or options["engine"] in ("threads", "greenlet"):
            raise NotAlike("messages go one by one, with their additions")
        if options["timelines"]:
            raise NotAlike("each rank has a timeline of its own")
        self.trace_of, self.peer, self.options = trace_of, peer, options
        speeds = options["speeds"] or {}
        device = options["device"]
        self.devices = None if device is None else spread(device, size)

        def apart(rank: int) -> Any:
            return speeds.get(rank, 1), None if self.devices is None else id(self.devices[rank])

        self.classes = RankClasses(size, self.network.topology, trace_of, peer, apart)
        if len(self.classes.first) == size:
            raise NotAlike("every rank is of a class of its own")
        self.speeds = {number: speeds[rank] for number, rank in enumerate(self.classes.first) if rank in speeds}
        self.light: LightCollectives | None = None
        self.medium: Any = None
        self._carried: Any = None

    def run(self, run_all: Callable[..., Report[Any]]) -> Report[Any]:
        """The report of all ranks."""
        first = self.classes.first
        chosen = {"speeds": self.speeds, "net": self.network, "prepared": self._prepare}
        if self.devices is not None:
            chosen["device"] = [self.devices[rank] for rank in first]
        report = run_all(self._replay, len(first), **{**self.options, **chosen})
        ranks = [replace(report.ranks[number], rank=rank) for rank, number in enumerate(self.classes.of.tolist())]
        return replace(report, ranks=ranks)

    def _prepare(self, stage: SimulationStage) -> None:
        self.medium = stage.medium
        self.light = LightCollectives(stage.clock, stage.medium, set())
        stage.medium.make_way = partial(self._way, stage.medium)

    def _replay(self) -> None:
        here, count = world.current(), len(self.classes.first)
        here.engine, rank = self, self.classes.first[here.rank]
        if self._carried is None and self.medium.carried is not None:
            self._carried = self.medium.carried  # it tells the devices of classes what their messages did
            self.medium.carried = lambda number, *span: self._carried(number % count, *span)
        ClassReplayer(self, rank).replay()

    # ----------------------------------------------------------------------------- its network

    def _way(self, medium: Medium, src: int, dst: int) -> Way:
        """A class stands behind several numbers of receivers: one for messages between two classes, and one more for
        each kind of way in collectives."""
        count = len(self.classes.first)
        turn, dst = divmod(dst, count)
        kind = turn - 1 if turn else self.classes.way(src, dst)
        stays = kind == SAME_NODE
        sender = (medium.counters if stays else medium.leaving)[src]
        route = _route(self.network.topology, src, dst, stays)
        return Way(route, sender, medium.counters[dst])

    # ------------------------------------------------------------------------- its collectives

    is_shared = True

    def bind(self, call: PreparedCall, vector: Any) -> Any:
        return partial(self._execute, call, vector(call.schedule))

    def _execute(
        self, call: PreparedCall, of: CollectiveOfClasses, operation: CollectiveOperation, arrays: Any, own: Any
    ) -> None:
        if of.rows.source:
            assert self.light is not None
            self.light.carry_out(call, operation, of.rows, self.traffic_of(of))

    def alone(self, of: CollectiveOfClasses, number: int) -> CollectiveAlone:
        """A collective of one class."""

        medium, kind = Medium(VirtualClock(), self.network), self.traffic_of(of)
        medium.make_way = partial(self._way, medium)
        return CollectiveAlone(lambda where, over: kind(where, of.rows, [number], over), medium, number)

    def traffic_of(self, of: CollectiveOfClasses) -> Callable[..., TrafficOfClasses]:
        return partial(TrafficOfClasses, of.ways, len(self.classes.first))

    def __repr__(self) -> str:
        return f"<ClassReplay by {self.classes!r}>"


def _route(topology: Topology, src: int, dst: int, stays: bool) -> Route:
    """The way from a rank of one class to a rank of another one, by the ports of those that stand for them."""
    if isinstance(topology, Uniform):
        return Route(topology.link, src, dst)
    if isinstance(topology, TwoLevel):
        if stays or topology.nic == "per_gpu":
            return Route(topology.intra if stays else topology.inter, src, dst)
        return Route(topology.inter, ("nic", src), ("nic", dst))
    assert isinstance(topology, Rails)
    via = topology.inside(src, dst) if stays else topology.outside(src, dst)
    return topology.way(src, dst, via)


class TrafficOfClasses(payloadless.Traffic):
    """One collective under way. `ways` are the kinds of its messages' ways."""

    def __init__(self, ways: list[int], count: int, *given: Any) -> None:
        super().__init__(*given)
        self.receivers = [
            Receiver(self.seats[to], self.seats[to].rank + (1 + way) * count)
            for to, way in zip(self.rows.to, ways, strict=True)
        ]


class Receiver:
    """A seat, by the number that says over which kind of way its messages come."""

    __slots__ = ("rank", "take")

    landed = None

    def __init__(self, seat: payloadless.CollectiveRank, rank: int) -> None:
        self.rank, self.take = rank, seat.take


class ClassReplayer(Replayer):
    """Replays the trace of a class."""

    def __init__(self, replay: ClassReplay, rank: int) -> None:
        self.replay_of, self.standing_for = replay, rank
        super().__init__(replay.trace_of(rank), replay.peer)
        self._alone: dict[int, CollectiveAlone | None] = {}  # by kind
        self._together: dict[tuple[int, ...], ActsTogether] = {}  # by the acts

    # ----------------------------------------------------------------------- acts that nothing disturbs

    def replay_acts(self) -> None:
        of, at = self.trace.acts, 0
        while at < len(of):
            together = self._undisturbed(at) if self._may_go_together() else []
            if any(isinstance(act, acts.CollectiveBegun) for act in together):
                at += self._pass(together)
            else:
                self._doing[type(of[at])](of[at])
                at += 1

    def _may_go_together(self) -> bool:
        """Whether this class computes at full speed, and nothing that it has begun is under way."""
        is_idle = all(group._worker is None or group._worker.is_idle() for group in self.groups)
        return is_idle and is_at_full_speed(self.clock, self.world.rank)

    def _undisturbed(self, at: int) -> list[acts.TracedAct]:
        """The acts from there on that are one event where nothing disturbs them."""
        of, end = self.trace.acts, at
        while end < len(of) and self._is_own(of[end]):
            end += 1
        return of[at:end]

    def _is_own(self, act: acts.TracedAct) -> bool:
        """Whether no other class has a part in it, and the next act comes after it."""
        if not isinstance(act, acts.CollectiveBegun):
            return isinstance(act, acts.DeviceComputing | acts.Computed)
        alone = self.alone(act.kind) if act.work is None else None
        limit = act.timeout or self.groups[act.kind.group].timeout
        return alone is not None and alone.is_plain and (limit is None or alone.picos < limit * PICO)

    def alone(self, kind: acts.CallKind) -> CollectiveAlone | None:
        """It, if all ranks of its group are of this class."""
        if id(kind) not in self._alone:
            of = self.replay_of.classes.collective(kind, self.standing_for)
            is_own = len(of.rows.begin) == 1
            self._alone[id(kind)] = self.replay_of.alone(of, self.world.rank) if is_own else None
        return self._alone[id(kind)]

    def _pass(self, given: list[acts.TracedAct]) -> int:
        """Do them together, or the first one by itself; how many were done."""
        of, medium, me = self._made(given), self.replay_of.medium, self.clock.me()
        if not medium.are_free(of.ports):
            self._doing[type(given[0])](given[0])
            return 1
        passing = ActsUnderWay(of, medium, self.clock)
        passing.wait()
        done = self._made(given[: passing.alike])
        done.have_happened(passing.start, self.world.rank, self.stream, medium)
        me.slept, me.waited = me.slept + done.computing, me.waited - done.computing
        return passing.done

    def _made(self, given: list[acts.TracedAct]) -> ActsTogether:
        key = tuple(map(id, given))
        if key not in self._together:
            self._together[key] = ActsTogether(given, self.alone)
        return self._together[key]

    # --------------------------------------------------------------------------------- single acts

    def _prepare(self, kind: acts.CallKind) -> tuple[PreparedCall, dict[Any, Any]]:
        group = self.groups[kind.group]
        call = PreparedCall(group, kind.schedule, kind.said, kind.root, kind.nbytes, False)
        of = self.replay_of.classes.collective(kind, self.standing_for)
        call.execute = self.replay_of.bind(call, lambda _: of)
        return call, {}

    def other_end(self, act: acts.NotedMessage) -> int:
        classes = self.replay_of.classes
        ranks = classes.group(act.group, self.standing_for)
        other = int(classes.of[ranks[self.peer(act, self.standing_for)]])
        return self.groups[act.group].ranks.index(other)

    def make(self, act: acts.GroupsMade) -> None:
        for _ in own_parts(act).get(self.standing_for, ()):
            index = len(self.groups)
            ranks = self.replay_of.classes.members(index, self.standing_for)
            self.groups.append(
                ProcessGroup(self.world, f"{index} of {ranks}", ranks, act.timeout, act.backend, act.description, None)
            )
