"""Both halves of a folded run: representatives record, all ranks replay."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from contextlib import nullcontext
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Final

import numpy as np

from minitorch_dist.distributed import world
from minitorch_dist.distributed.exceptions import DistError
from minitorch_dist.sim import device_time
from minitorch_dist.sim.report import Report
from minitorch_dist.sim.stage import SimulationStage
from minitorch_dist.tensors import ledger, pools
from mtd.planning.fold import acts, roles
from mtd.planning.fold.class_replay import ClassReplay
from mtd.planning.fold.classes import NotAlike
from mtd.planning.fold.peers import PeerContents
from mtd.planning.fold.rank_number import Table
from mtd.planning.fold.replaying import Replayer
from mtd.planning.fold.roles import CannotFold, Role, RoleTable, refuse
from mtd.planning.fold.trace import NotingStream, OperationTrace, ToldBesides
from transports.errors import Deadlock
from transports.quantities import in_words

LARGEST: Final = 256  # ranks of a world that is run in full where it cannot be folded
Run = Callable[..., Report[Any]]


@dataclass(frozen=True)
class Folded:
    """The way in which a run was folded. `refused`: why it was run in full instead."""

    roles: tuple[Role, ...]
    refused: str = ""
    classes: int = 0  # of ranks that do all at the same instants; 0: every rank had a clock of its own
    undivided: str = ""  # why there are no classes

    def role_of(self) -> dict[int, int]:
        """The role of each rank."""
        return {rank: number for number, role in enumerate(self.roles) for rank in role.ranks}

    def __str__(self) -> str:
        if self.refused:
            return f"not folded: {self.refused}"
        ran = sum(1 + len(role.witnesses) for role in self.roles)
        ranks = sum(len(role.ranks) for role in self.roles)
        clocks = f"; {self.classes} clocks" if self.classes else ""
        return f"folded: {len(self.roles)} roles; {ran} of {ranks} ranks ran the program{clocks}"


Fold = bool | Folded | Callable[[int], Hashable]


def run(
    run_all: Run, fn: Callable[..., Any], world_size: int, args: Any, kwargs: Any, fold: Fold, **options: Any
) -> Report[Any]:
    """`run_all` is `sim.run`, and `options` are its own. Folded, if that can be proved right; else in full."""
    if isinstance(fold, Folded):
        roles_of = fold.role_of()
        if len(roles_of) != world_size:
            why = f" ({fold.refused})" if fold.refused else ""
            raise ValueError(f"fold= has roles of {len(roles_of)} ranks, not of {world_size}{why}")
        fold, is_proved = roles_of.__getitem__, True
    else:
        is_proved = False
    key = fold if callable(fold) else None
    try:
        session = Recording(world_size, key, is_proved, options["timelines"])
        run_all(
            partial(session.attend, fn),
            world_size,
            args,
            kwargs,
            **options | {"speeds": None, "prepared": session.prepare, "timelines": False},
        )
        session.check()
        report = session.replayed(run_all, options)
    except Exception as error:
        if type(error).__name__ == "OutOfMemoryError":  # ours or torch's: no rank of a full run has more room
            raise
        if world_size <= LARGEST:
            full = run_all(fn, world_size, args, kwargs, **options)
            return replace(full, folded=Folded((), str(error).partition("\n")[0]))
        if not isinstance(error, CannotFold | DistError | Deadlock):
            error.add_note(f"(by one rank for others of {world_size}; fold=False runs all)")
            raise
        raise CannotFold(
            f"{error}. So all {world_size} ranks would have to run the program, which is done up to "
            f"{LARGEST}. Make the world smaller, or say fold=False"
        ) from error
    return session.whole(report)


class Recording:
    """The recording of one program."""

    def __init__(
        self, size: int, key: Callable[[int], Hashable] | None, is_proved: bool = False, tells_besides: bool = False
    ) -> None:
        self.size, self.is_proved, self.tells_besides = size, is_proved, tells_besides
        self.traces: dict[int, OperationTrace] = {}
        self.watched: dict[int, OperationTrace] = {}  # of representatives, whose comparisons were watched
        self.plain: set[int] = set()  # ranks that have run with plain numbers
        self.called: set[int] = set()
        self.running = 0
        self.role_table = RoleTable(size, key, self.called.add)
        self.role_table.call = self.call
        self.running = len(self.called)
        self.peers = PeerContents(self.role_table)
        self._rules: dict[int, str | Table] = {}  # by message: how its other end is found
        self.count, self.undivided = 0, ""  # of classes; or why there are none
        self._changed: Any = None
        self._stage: SimulationStage | None = None

    # ------------------------------------------------------------------------- recording

    def prepare(self, stage: SimulationStage) -> None:
        self._stage, stage.is_recorded = stage, True
        self._changed = stage.clock.condition("what the representatives do")
        self.peers.begin(stage.clock)
        stage.medium.witness = self._witnessed
        stage.entered.append(self._entered)

    def call(self, rank: int) -> None:
        """Let this rank run the program."""
        self.running += 1
        with self._changed:
            self.called.add(rank)
            self._changed.notify_all()

    def _entered(self, here: world.World) -> None:
        if here.rank in self.traces:
            refuse("the program makes a second world")

    def _witnessed(self, kind: str, rank: int, *what: Any) -> None:
        if kind == "compute" and rank in self.traces:
            self.traces[rank].computes(kind, rank, what[0])

    def attend(self, fn: Callable[..., Any], *args: Any, **kwargs: Any) -> None:
        """One rank of the recording: it runs the program whenever it is called."""
        rank = world.current().rank
        while True:
            with self._changed:
                while rank not in self.called and self.running:
                    self._changed.wait()
                if rank not in self.called:
                    return
                self.called.discard(rank)
            self._record(rank, fn, args, kwargs)

    def _record(self, rank: int, fn: Callable[..., Any], args: Any, kwargs: Any) -> None:
        here = world.current()
        is_first, is_again = self.role_table.is_first(rank), rank in self.watched
        watches = is_first and not is_again and not self.is_proved
        clock: Any = here.clock
        devices = device_time.of(clock)
        told = ToldBesides(devices) if self.tells_besides else None
        trace = OperationTrace(rank, self.role_table, self.peers, watches, is_first and is_again, told, self.is_proved)
        self.traces[rank] = trace
        if devices is not None:
            trace.stream = NotingStream(devices.streams[rank].device, rank, clock)
            trace.stream.trace = trace
            devices.streams[rank] = trace.stream
        # A second run makes groups of the same names as the first one did.
        here.group_count = 0
        given = world.place().given
        given["fresh"] = True
        trace.enter(here)
        slept = clock.me().slept
        try:
            with given.get("around program", nullcontext)():
                trace.result = fn(*args, **kwargs)
            trace.acts.close()
            trace.peak, trace.peak_held = _peak()
            if clock.me().slept - slept != trace.busy:
                refuse("the program sleeps")
        finally:
            here.trace, here.has_parted, trace.is_over = None, True, True
        self._over(trace)
        with self._changed:
            self.running -= 1
            self._changed.notify_all()

    def _over(self, trace: OperationTrace) -> None:
        """A rank is through: who is next?"""
        rank = trace.rank
        role = int(self.role_table.of[rank])
        if trace.watches:
            self.watched[rank] = trace
            self.role_table.call_witnesses(rank)
        else:
            self.plain.add(rank)
        first, witnesses = self.role_table.first[role], self.role_table.witnesses[role]
        if first in self.plain or first not in self.watched or not self.plain.issuperset(witnesses):
            return
        watched = self.watched[first]
        is_alike = all(not difference(watched, self.traces[witness]) for witness in witnesses)
        if watched.has_watched and not (witnesses and is_alike):
            self.peers.again(first)  # watched numbers may be treated in another way: it runs with plain ones
            self.call(first)

    # -------------------------------------------------------------------------- checking

    def check(self) -> None:
        """CannotFold unless the witnesses did what their representatives did."""
        for role in self.role_table.roles():
            first = self.traces[role.representative]
            self._check_groups(first, role)
            for witness in role.witnesses:
                found = difference(first, self.traces[witness])
                if found:
                    raise CannotFold(f"rank {witness} does not do what rank {role.representative} does: {found}")
            for place, act in enumerate(first.acts):
                if isinstance(act, acts.NotedMessage):
                    self._rules[id(act)] = self._rule(place, act, first, role)

    def _check_groups(self, trace: OperationTrace, role: Role) -> None:
        ranks = np.array(role.ranks)
        if not roles.uniform(trace.counts[ranks]):
            raise CannotFold(f"the ranks {role.ranks[:4]} … are in different numbers of groups")
        for index, parts in enumerate(trace.parts[: len(trace.groups)]):
            sizes = {len(parts[number]) for number in set(trace.part_of[index][ranks].tolist())}
            if len(sizes) > 1:
                raise CannotFold(f"the {index}-th groups of ranks that do the same have {sizes} ranks")

    def _rule(self, place: int, act: acts.NotedMessage, trace: OperationTrace, role: Role) -> str | Table:
        """How the other end of a message is found on the other ranks of a role."""
        watched = () if self.is_proved else self.watched[role.representative].acts
        same = watched[place] if place < len(watched) else None
        if isinstance(same, acts.NotedMessage) and same.peers is not None:
            return same.peers
        if roles.uniform(trace.tables[act.group][np.array(role.ranks)]):
            return "equal"
        size = len(trace.groups[act.group].ranks)
        found = set()
        for witness in role.witnesses:
            theirs: Any = self.traces[witness].acts[place]
            mine, other = trace.tables[act.group][[trace.rank, witness]].tolist()
            if theirs.peer == act.peer:
                found.add("equal")
            if (theirs.peer - other) % size == (act.peer - mine) % size:
                found.add("relative")
        if len(found) != 1:
            raise CannotFold(
                f"nobody knows to which ranks the others send with tag {act.tag}: name the peer by "
                "arithmetic on get_rank()"
            )
        return found.pop()

    def peer(self, act: acts.NotedMessage, rank: int) -> int:
        """The other end of a message on this rank: a group rank."""
        rule = self._rules[id(act)]
        if isinstance(rule, np.ndarray):
            return int(rule[rank])
        if rule == "equal":
            return act.peer
        trace = self.trace_of(rank)
        mine, other = trace.tables[act.group][[trace.rank, rank]].tolist()
        return int((act.peer - mine + other) % len(trace.groups[act.group].ranks))

    # --------------------------------------------------------------------------- replaying

    def trace_of(self, rank: int) -> OperationTrace:
        return self.traces[self.role_table.first[int(self.role_table.of[rank])]]

    def replayed(self, run_all: Run, options: dict[str, Any]) -> Report[Any]:
        """The replay: by one rank of each class, or by all ranks where they do not fall into classes."""
        try:
            by_class = ClassReplay(self.size, self.trace_of, self.peer, options)
        except NotAlike as why:
            self.undivided = str(why)
            return run_all(self.replay, self.size, **options)
        self.count = len(by_class.classes.first)
        return by_class.run(run_all)

    def replay(self) -> None:
        Replayer(self.trace_of(world.current().rank), self.peer).replay()

    def whole(self, report: Report[Any]) -> Report[Any]:
        """The report of the replay, with what only representatives know."""
        traces = [self.trace_of(rank.rank) for rank in report.ranks]
        ranks = [
            replace(rank, peak_bytes=trace.peak, peak_held=trace.peak_held)
            for rank, trace in zip(report.ranks, traces, strict=True)
        ]
        results = [self.trace_of(rank).result for rank in range(self.size)]
        roles = self.role_table.roles()
        folded = Folded(roles, "", self.count, self.undivided)
        lines = report.timelines
        if lines is not None:
            lines = replace(lines, said_roles=tuple(tuple(role.ranks) for role in roles))
        return replace(report, ranks=ranks, results=results, folded=folded, timelines=lines)


def difference(one: OperationTrace, other: OperationTrace) -> str:
    """The first act that two traces do not share; "" if there is none."""
    for number, (mine, theirs) in enumerate(zip(one.acts, other.acts, strict=False)):
        if _seen(mine) != _seen(theirs):
            return f"act {number} is {_words(theirs)}, not {_words(mine)}"
    if len(one.acts) != len(other.acts):
        return f"it has {len(other.acts)} acts, not {len(one.acts)}"
    if one.peak != other.peak:
        return f"its memory's peak is {other.peak}, not {one.peak}"
    return ""


def _seen(act: Any) -> Any:
    """An act without what differs between ranks that do the same."""
    if isinstance(act, acts.NotedMessage):
        return replace(act, peer=0, peers=None, array=(act.array.dtype, act.array.shape))
    if isinstance(act, acts.CollectiveBegun):
        kind = act.kind
        arrays = [(str(name[0]), a.shape, a.dtype) for name, a in kind.arrays.items()]
        return (kind.group, kind.schedule, kind.said, kind.root, kind.nbytes, kind.vector.sizes,
                kind.vector[1:5], len(kind.vector.results or ()), arrays, act.timeout, act.work)  # fmt: skip
    if isinstance(act, acts.ObjectsExchanged):
        return act.name, act.group, act.root, sorted(act.chunks.values())
    if isinstance(act, acts.GroupsMade):
        return act.parts, act.timeout, act.backend, act.description
    return act


def _words(act: Any) -> str:
    if isinstance(act, acts.CollectiveBegun):
        return str(act.kind.said)
    if isinstance(act, acts.NotedMessage):
        return f"a {'send' if act.is_send else 'receive'} of {act.array.dtype}{list(act.array.shape)}"
    if isinstance(act, acts.DeviceComputing):
        span = in_words(sum(each.picos for each in act.operations))
        return f"computing for {span} ({len(act.operations)} operations up to {act.operations[-1].name})"
    return type(act).__name__


def _peak() -> tuple[int | None, dict[str, int]]:
    """The most that this rank's accelerator held, if it has one, and by category."""
    if not pools.count():
        return None, {}
    held = ledger.of("cuda").snapshot()
    return held.peak, held.peak_by_category
