"""`World`: all that belongs to one rank; and `current`, which answers "which rank am I?".

Where a process is a rank, everything in the process sees that rank's `World`. Where ranks are
threads of one process, each has a *place* of its own, and a context variable holds it. A world is found
in the place where it was made. A thread that the library starts has the place of the thread that starts
it. No other module keeps such a variable.
"""

from __future__ import annotations

from collections.abc import Callable
from contextvars import ContextVar, Token
from threading import get_ident  # noqa: TID251 - tells threads apart; nothing waits
from typing import Any

from minitorch_dist.distributed.execution.operations import GroupChannel
from minitorch_dist.distributed.mail.mailbox import Mailbox
from minitorch_dist.distributed.schedules.links import Links
from transports.clock import SYSTEM, Clock, Thread
from transports.contract import Transport
from transports.stores.store import Store

REMEMBERED = 64  # channels of a world
NO_WORLD = "Default process group has not been initialized, please make sure to call init_process_group."


class World:
    """One rank's state. `extras` is for lessons and programs: one object under the name of each."""

    def __init__(self, transport: Transport, mailbox: Mailbox, store: Store, backend: str) -> None:
        self.transport, self.mailbox, self.store, self.backend = transport, mailbox, store, backend
        self.clock = transport.clock
        self.rank, self.world_size = transport.rank, transport.world_size
        self.identity = ""  # which of the process's worlds this is; the same on all ranks
        self.origin = ""  # the same, and of which generation of workers it is
        self.groups: dict[str, Any] = {}  # by name; the default group is one of them
        self.group_count = 0
        self.default_group: Any = None
        self.own_store: Store | None = None  # to be closed with this world
        self.signs_off = True  # in the store, when it ends: so that its ranks may come again
        self.at_end: list[Callable[[], None]] = []  # what to call when it ends, last first
        self.channels: list[GroupChannel] = []  # the latest, also of groups that are no more
        self.has_parted = False  # or must not, since something has failed (see `exit_check`)
        self.answers: Callable[[Callable[[], bool]], bool] | None = None  # for is_completed()
        self.has_board_group = False  # one that uses the transport's board
        self.links: Links | None = None  # the costs of messages, if they were declared or measured
        self.engine: Any = None  # carries out collectives instead of the transport (see `prepared`)
        self.meshes: dict[str, Any] = {}  # of all its ranks, by the kind of device
        self.groups_meet = True  # the ranks that make a group wait for each other
        self.extras: dict[str, Any] = {}
        self.unfinished: Any = None  # looks after tensors of operations that are not over (`sim.unfinished`)
        self.is_left_behind = False  # by a forked child (see `forked`)
        self.trace: Any = None  # notes what this rank begins, instead of doing it (see `mtd.planning.fold`)

    def remember(self, channel: GroupChannel) -> None:
        """A new group's; the oldest is forgotten where there are too many."""
        self.channels = [*self.channels, channel][-REMEMBERED:]

    def start(self, function: Callable[[], None], name: str) -> Thread:
        """Run `function` beside the caller, as part of this rank."""
        if self.trace is not None:
            self.trace.refuse(f"the program starts a thread ({name})")

        def act() -> None:
            self.mailbox.traffic.callers.add(get_ident())  # it may send and receive, as the program does
            function()

        return self.clock.start(inherited(act), f"{name} of rank {self.rank}")


class WorldScope:
    """Where a world stands: the process, or a thread that is a rank."""

    def __init__(self, clock: Clock = SYSTEM, **given: Any) -> None:
        self.world: World | None = None
        self.clock = clock
        self.given = given  # what a launcher has decided for this rank
        self.rpc_agent: Any = None  # RPC needs no world
        self.at_end: list[Callable[[], None]] = []  # to call when this rank is over, last first
        self.interrupts: list[Callable[[], None]] = []  # so that a thread that waits here notices an end


before_rpc: list[Callable[[], None]] = []
"""`init_rpc` calls these first: the layers above RPC register what peers may ask of them."""

_process = WorldScope()
_place: ContextVar[WorldScope] = ContextVar("place", default=_process)


place: Callable[[], WorldScope] = _place.get
"""The place of the calling thread."""


class StandingIn:
    """Within the block, this thread is the rank of that place."""

    __slots__ = ("_here", "_token")

    def __init__(self, here: WorldScope) -> None:
        self._here = here

    def __enter__(self) -> WorldScope:
        self._token: Token[WorldScope] = _place.set(self._here)
        return self._here

    def __exit__(self, *_: object) -> None:
        _place.reset(self._token)


def inherited(function: Callable[[], None]) -> Callable[[], None]:
    """`function`, to be run by another thread in the caller's place."""
    here = place()

    def run() -> None:
        with StandingIn(here):
            function()

    return run


def is_here() -> bool:
    return place().world is not None


def current() -> World:
    """This rank's world; ValueError before `init_process_group`."""
    world = place().world
    if world is None:
        raise ValueError(NO_WORLD)
    return world
