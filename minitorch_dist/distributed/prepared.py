"""A collective that is ready to run: prepare once, then run it with any arrays of the same kind.

A training loop makes the same calls in every step. To prepare a call is to check its arguments, to choose a
schedule, and to bind an engine. The engine is messages, a faster way (see `fast`), or that of a simulated world.
All of that depends on the kind of the call alone: its function, op, root, dtypes and shapes. So it is done for
the first call of a kind, and kept with the group. Every call, the first one too, is then a `PreparedCall.run`.

Some things depend on the call itself and are checked every time. They are the group's state, the calls of the
other ranks, and how the arrays lie: whether they are contiguous and writeable, and whether they overlap.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final, NamedTuple, Protocol, TypeAlias, TypeVar

from minitorch_dist.distributed.callsite import callsite
from minitorch_dist.distributed.execution.chunks import Vector
from minitorch_dist.distributed.execution.executor import PlannedCall
from minitorch_dist.distributed.execution.operations import CollectiveOperation
from minitorch_dist.distributed.execution.planner import plan
from minitorch_dist.distributed.groups import ProcessGroup, joined
from minitorch_dist.distributed.mail import wire
from minitorch_dist.distributed.mail.receives import Array, PostponedCopy
from minitorch_dist.distributed.mail.wire import Fingerprint
from minitorch_dist.distributed.reductions import COMBINES
from minitorch_dist.distributed.schedules import choice
from minitorch_dist.distributed.schedules.links import Links
from minitorch_dist.distributed.schedules.schedule import Schedule
from minitorch_dist.distributed.work import Work
from minitorch_dist.distributed.world import place

Algorithm: TypeAlias = "str | Schedule | None"
Arrays: TypeAlias = "dict[Any, Array]"
MakeVector: TypeAlias = "Callable[[Schedule], Vector]"
Execute: TypeAlias = "Callable[[CollectiveOperation, Arrays, PostponedCopy | None], None]"
"""It carries out one operation with these arrays. The copy is what a rank has for itself."""


class How(NamedTuple):
    """The arguments that all collectives take besides their arrays."""

    algorithm: Algorithm = None
    asynchronous: bool = False
    output: Any = None  # what the Work hands out
    written: Callable[[], None] | None = None  # called when the results are there
    timeout: float | None = None


NOW: Final = How()


class PreparedCall:
    """One kind of collective call on one group. `execute` is what its engine has bound to it."""

    __slots__ = (
        "combine", "execute", "expects", "fingerprint", "group", "is_kept", "nbytes", "rank", "root",
        "schedule", "size",
    )  # fmt: skip

    execute: Execute

    def __init__(
        self,
        group: ProcessGroup,
        schedule: Schedule,
        fingerprint: Fingerprint,
        root: int | None,
        nbytes: int,
        is_kept: bool,
    ) -> None:
        self.group, self.schedule, self.fingerprint, self.root = group, schedule, fingerprint, root
        self.nbytes, self.is_kept = nbytes, is_kept
        self.rank, self.size = group.rank(), group.size()
        self.combine = COMBINES.get(fingerprint.reduce)
        self.expects = wire.encode_fingerprint(fingerprint)

    def run(
        self,
        arrays: Arrays,
        own: PostponedCopy | None = None,
        how: How = NOW,
        first: Callable[[], None] | None = None,
        last: Callable[[], None] | None = None,
    ) -> Work | None:
        """Begin the group's next operation and carry it out: every collective call comes here. `own` is a
        copy that can be made at any time of it; `first` and `last` are called before and after."""
        group, worker = self.group, self.group._worker
        if group.world.trace is not None:
            return group.world.trace.collective(self, arrays, own, how, first, last)  # type: ignore[no-any-return]
        if how.asynchronous or group.is_closed or (worker is not None and not worker.is_idle()):
            return self._run_in_turn((arrays, own, first, last, how.written), how, callsite(2))
        said, expects = self.fingerprint, self.expects
        with group.channel.begin(said, callsite(2), how.timeout, expects) as operation:
            self._carry_out(operation, arrays, own, first, last, how.written)
        if group.world.unfinished is not None:
            group.world.unfinished.heard()
        return None

    def _carry_out(
        self,
        operation: CollectiveOperation,
        arrays: Arrays,
        own: PostponedCopy | None,
        first: Callable[[], None] | None,
        *after: Callable[[], None] | None,
    ) -> None:
        if first is not None:
            first()
        self.execute(operation, arrays, own)
        for act in after:
            if act is not None:
                act()

    def _run_in_turn(self, given: Any, how: How, site: str) -> Work | None:
        """Let the group's worker do it, after what it has still to do."""

        def body(operation: CollectiveOperation) -> None:
            self._carry_out(operation, *given)

        beside = how.asynchronous
        work = self.group.run(self.fingerprint, body, beside, how.output, how.timeout, site)
        if work is not None and how.written is not None and self.group.world.unfinished is not None:
            self.group.world.unfinished.began(work)
        return work


Kind = TypeVar("Kind")


def repeated(group: Any, key: Any, prepare: Callable[..., Kind], *given: Any) -> Kind | None:
    """This rank's prepared call of one kind in a group, or in its default group. It is kept from the first call, where
    `prepare` makes it of the group and of what is `given`. A schedule that was registered since makes all kinds new.
    None, after a warning, where this rank is not in the group."""
    try:
        which = place().world.default_group if group is None else group  # type: ignore[union-attr]
        prepared: Kind | None = which.prepared.get((key, len(choice.changes)))
    except (AttributeError, TypeError):  # no world, no group, or an argument of a wrong type
        prepared = None
    if prepared is None and (which := joined(group, key[0], 2)) is not None:
        prepared = prepare(which, *given)
        which.keep(key, prepared)
    return prepared


# ------------------------------------------------------------------------------------- engines


class Engine(Protocol):
    """It carries out the collectives of a world. A simulated world has its own, as `World.engine`."""

    is_shared: bool
    """Whether it serves many ranks of one process: then no rank keeps its prepared calls."""

    def choose(
        self, group: ProcessGroup, collective: str, said: Fingerprint, nbytes: int, algorithm: Algorithm
    ) -> tuple[Schedule, Fingerprint]:
        """The schedule of a call, and the call's fingerprint with its name."""

    def bind(self, call: PreparedCall, vector: MakeVector) -> Execute:
        """A function that carries out this kind of call. `vector` says how its arrays are cut for a schedule."""


binders: Final[dict[str, Callable[[PreparedCall, Vector], Execute | None]]] = {}
"""Faster ways to carry out a kind of call, by what a group needs for them (`ProcessGroup.faster_ways`). Each takes the vector
that was cut for the call, and has None for what it cannot do. They stand in the package `fast`."""


class TransportEngine:
    """The collectives over a transport: in messages, unless there is a faster way."""

    is_shared = False

    def choose(
        self, group: ProcessGroup, collective: str, said: Fingerprint, nbytes: int, algorithm: Algorithm
    ) -> tuple[Schedule, Fingerprint]:
        links, on_board = links_of(group), group.is_on_board
        root = group.ranks.index(said.root) if said.root >= 0 else None
        schedule = choice.choose(collective, group.size(), nbytes, links, algorithm, on_board, root)
        return schedule, said._replace(algorithm=schedule.algorithm)

    def bind(self, call: PreparedCall, vector: MakeVector) -> Execute:
        cut = vector(call.schedule)
        for way in call.group.faster_ways():
            faster = binders[way](call, cut) if way in binders else None
            if faster is not None:
                return faster
        wanted = plan(call.schedule, call.rank, call.size, call.root, cut)
        return PlannedCall(wanted, call.combine).run


OVER_TRANSPORT: Final = TransportEngine()


def links_of(group: ProcessGroup) -> Links:
    """The cost of this group's messages: declared for its transport, or by `use_links`."""
    found = group.world.links
    if found is None:
        board = group.world.transport.board() if group.is_on_board else None
        costs = group.world.transport.costs if board is None else board.costs
        found = Links() if costs is None else Links.measured(*costs)
    assert isinstance(found, Links)
    return found.among(group.ranks)


def use_links(group: ProcessGroup, links: Links) -> None:
    """Let this rank's world choose by these links from now on. All ranks must agree on them."""
    group.world.links = links
    for every in group.world.groups.values():
        every.prepared.clear()


def prepare(
    group: ProcessGroup,
    collective: str,
    said: Fingerprint,
    nbytes: int,
    algorithm: Algorithm,
    vector: MakeVector,
    root: int | None = None,
    more: Any = None,
) -> PreparedCall:
    """Prepare this kind of call. `more` holds all that `vector` depends on beside `said`.

    The environment is read when a kind of call is met for the first time.
    """

    def made(group: ProcessGroup) -> PreparedCall:
        engine: Engine = group.world.engine or OVER_TRANSPORT
        schedule, fingerprint = engine.choose(group, collective, said, nbytes, algorithm)
        call = PreparedCall(group, schedule, fingerprint, root, nbytes, not engine.is_shared)
        call.execute = engine.bind(call, vector)
        return call

    found = repeated(group, (said, algorithm, more), made)
    assert found is not None, "only members have a group"
    return found
