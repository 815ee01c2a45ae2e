"""Process groups: some of the world's ranks, numbered anew, with a channel of their own.

    world   0  1  2  3  4  5            every group has its own sequence numbers and its own number
    group      0     1  2               on the wire, made of its name and its ranks: messages of
                                        two groups never meet

How they are made stands in `new_groups`.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from datetime import timedelta
from functools import lru_cache
from typing import Any, ClassVar, Final, NoReturn

from minitorch_dist.distributed.callsite import callsite
from minitorch_dist.distributed.exceptions import DistBackendError
from minitorch_dist.distributed.execution.operations import CollectiveOperation, GroupChannel
from minitorch_dist.distributed.mail import wire
from minitorch_dist.distributed.mail.wire import Fingerprint
from minitorch_dist.distributed.schedules.choice import changes
from minitorch_dist.distributed.work import TaskThread, Work, WorkerTask
from minitorch_dist.distributed.world import World, current, place
from minitorch_dist.inventory.not_offered import tells_what_is_gone

KEPT: Final = 4096  # prepared calls of a group
NON_MEMBER: Final = -100  # for a rank that is not in the group; torch's value
IS_OUTSIDE: Final = "this rank is not in the group (GroupMember.NON_GROUP_MEMBER)"


@lru_cache(maxsize=16)
def everybody(size: int) -> tuple[int, ...]:
    """The ranks of a whole world, of which one process may hold thousands: they share this."""
    return tuple(range(size))


@tells_what_is_gone
class ProcessGroup:
    """A group of ranks. Members only have one; others get NON_MEMBER."""

    def __init__(
        self,
        world: World,
        name: str,
        ranks: Sequence[int],
        timeout: float | None,
        backend: str,
        description: str = "undefined",
        options: Any = None,
    ) -> None:
        self.world, self.group_name, self.ranks = world, name, tuple(ranks)
        self.backend, self.group_desc, self.options = backend, description, options
        is_all = self.ranks is everybody(len(self.ranks))
        who = f"all {len(self.ranks)}" if is_all else self.ranks
        number = wire.group_number(world.origin or world.identity, name, who)
        is_named = description != "undefined" and ":split:" not in description
        called = description if is_named else name
        self.channel = GroupChannel(world.mailbox, called, number, self.ranks, timeout)
        self.is_on_board = self._is_on_board()
        self.board: Any = None  # this rank's end of it, where one is used
        self.borrows = world.transport.shared_objects() is not None  # (see `fast.borrowing`)
        self.prepared: dict[Any, Any] = {}  # the prepared calls, by their kind
        self.bound_device_id: Any = None
        self.is_closed = False
        self._threads: list[Any] = []
        self._worker: TaskThread | None = None
        self._sender: TaskThread | None = None
        self.point_to_point = wire.GROUP_AND_SEQUENCE.pack(number, wire.POINT_TO_POINT)
        world.groups[name] = self
        world.remember(self.channel)

    def _is_on_board(self) -> bool:
        """Whether its ranks read each other's memory: the transport has a board (see `fast.boards`), and this is
        the first group that has the whole world."""
        world, is_whole = self.world, self.ranks == everybody(self.world.world_size)
        if world.has_board_group or len(self.ranks) < 2 or not is_whole:
            return False
        world.has_board_group = world.transport.board() is not None
        return world.has_board_group

    def faster_ways(self) -> list[str]:
        """The ways to carry out collectives without messages for which it has what they need (see `fast`)."""
        return ["board"] * self.is_on_board + ["borrowing"] * self.borrows

    def rank(self) -> int:
        """This rank within the group."""
        return self.channel.rank

    def size(self) -> int:
        return self.channel.size

    def name(self) -> str:
        return self.backend

    @property
    def timeout(self) -> float | None:
        """Seconds that an operation may take; None is without end."""
        return self.channel.timeout

    def set_timeout(self, timeout: timedelta | float) -> None:
        if isinstance(timeout, timedelta):
            timeout = timeout.total_seconds()
        self.channel.timeout = timeout

    # -------------------------------------------------------------------------------- operations

    def keep(self, key: Any, prepared: Any) -> None:
        """Let `prepared.repeated` have it for the next call of this kind, if each rank keeps its own."""
        if prepared.is_kept:
            if len(self.prepared) >= KEPT:
                self.prepared.clear()
            self.prepared[key, len(changes)] = prepared

    def run(
        self,
        fingerprint: Fingerprint,
        body: Callable[[CollectiveOperation], None],
        asynchronous: bool = False,
        output: Any = None,
        timeout: float | None = None,
        site: str | None = None,
    ) -> Work | None:
        """Begin the group's next operation and let `body` carry it out: now, or (asynchronous) by
        the group's worker, beside the caller; then a Work is returned."""
        self.demand_open()
        if self.world.trace is not None:
            self.world.trace.refuse(f"the program calls {fingerprint.operation}")
        if self._worker is not None and self._worker.is_me():
            raise self._called_back(fingerprint)
        operation = self.channel.begin(fingerprint, callsite() if site is None else site, timeout)

        def carry_out() -> None:
            with operation:
                body(operation)

        if not asynchronous and (self._worker is None or self._worker.is_idle()):
            carry_out()
            return None
        if self._worker is None:
            self._worker = TaskThread(self.world, f"worker of group {self.channel.name}")
        recorder = self.world.mailbox.recorder
        if recorder is not None and asynchronous:
            recorder.issued(operation)
        task = self._worker.submit(WorkerTask(self.world, carry_out, operation, output))
        if asynchronous:
            return task
        task.wait()
        return None

    def _called_back(self, fingerprint: Fingerprint) -> DistBackendError:
        return DistBackendError(
            f"{fingerprint.operation} was called by a callback (Future.then) of another "
            f"operation of group {self.channel.name!r}. Callbacks run as soon as that operation "
            "is done, sooner or later on each rank, so the ranks' operations would be in "
            "different orders; and it would wait for itself. Call it where the future is waited "
            "for"
        )

    @property
    def sender(self) -> TaskThread:
        """The thread that carries out long sends."""
        if self._sender is None:
            self._sender = TaskThread(self.world, f"sender of group {self.channel.name}")
        return self._sender

    def demand_open(self) -> None:
        if self.is_closed:
            raise ValueError(
                f"the process group {self.channel.name!r} was destroyed, or belongs to an earlier "
                "init_process_group; make it anew"
            )

    # --------------------------------------------------------------------------------- its end

    def shutdown(self) -> None:
        """Take no further operations. An operation that a worker has begun goes on to its end."""
        self.is_closed = True
        self._threads = [w.close() for w in (self._worker, self._sender) if w is not None]
        self.channel.close()
        self.world.groups.pop(self.group_name, None)

    def join(self) -> None:
        """After `shutdown`: return when no thread of this group runs."""
        for thread in self._threads:
            if thread is not None:
                thread.join()

    def __repr__(self) -> str:
        broken = self.channel.broken
        state = "closed" if self.is_closed else "open" if broken is None else repr(broken)
        return (
            f"<{type(self).__name__} {self.channel.name!r}, rank {self.rank()} of {self.size()}, "
            f"ranks {list(self.ranks)}, {state}>"
        )


class _Roles(type):
    """`WORLD` is looked up anew each time: it is this rank's default group, or None."""

    @property
    def WORLD(cls) -> ProcessGroup | None:
        here = place().world
        return None if here is None else here.default_group


class group(metaclass=_Roles):
    """`group.WORLD` is the default group."""


class GroupMember(metaclass=_Roles):
    """`GroupMember.WORLD`, and what a rank gets of a group that it is not in."""

    NON_GROUP_MEMBER: ClassVar[int] = NON_MEMBER


# ------------------------------------------------------------------------------------- which group


def resolve(group: ProcessGroup | None) -> ProcessGroup:
    """The group itself, or the default group."""
    which = current().default_group if group is None else group
    return which if isinstance(which, ProcessGroup) else _no_group(which)


def _no_group(given: Any) -> NoReturn:
    if given == NON_MEMBER:
        raise ValueError(f"Invalid process group specified: {IS_OUTSIDE}")
    raise ValueError(
        f"Process group {given!r} is not initialized in the world group map. Please initialize the group "
        "first: a group is what new_group returned, or None for the whole world"
    )


def is_member(group: Any) -> bool:
    return not (isinstance(group, int) and group == NON_MEMBER)


def joined(group: ProcessGroup | None, operation: str, depth: int = 1) -> ProcessGroup | None:
    """The group of a call. None for one without this rank: then it warns at the user's line, `depth` functions of ours
    above this one."""
    if is_member(group):
        return resolve(group)
    warnings.warn(
        f"Running {operation} on global rank {current().rank} which does not belong to the given group.",
        stacklevel=2 + depth,
    )
    return None


def group_rank_of(group: ProcessGroup, global_rank: int) -> int:
    """The group rank of a rank of the world."""
    if global_rank not in group.ranks:
        raise _not_in(group, global_rank)
    return group.ranks.index(global_rank)


def _not_in(group: ProcessGroup, global_rank: int) -> ValueError:
    which = f"its ranks of the world are {in_words(group.ranks)}"
    if group.size() < group.world.world_size:
        which += "; a rank within the group goes as group_src= or group_dst="
    return ValueError(f"Global rank {global_rank} is not part of group {group}: {which}")


def in_words(ranks: Sequence[int]) -> str:
    """`0 to 7`, or the list."""
    is_range = len(ranks) > 1 and tuple(ranks) == tuple(range(ranks[0], ranks[-1] + 1))
    return f"{ranks[0]} to {ranks[-1]}" if is_range else str(list(ranks))


def global_rank_of(group: ProcessGroup, group_rank: int) -> int:
    """The rank in the world of a group rank."""
    if not 0 <= group_rank < len(group.ranks):
        raise ValueError(f"Group rank {group_rank} is not part of group {group}")
    return group.ranks[group_rank]


def canonical_rank(group: ProcessGroup, global_rank: int | None, group_rank: int | None) -> int:
    """The group rank, given as either of them; TypeError if it is not a whole number (1.0 is none)."""
    if group.world.trace is not None:
        return group.world.trace.named(group, global_rank, group_rank)  # type: ignore[no-any-return]
    return _canonical_rank(group, global_rank, group_rank)


def _canonical_rank(group: ProcessGroup, global_rank: int | None, group_rank: int | None) -> int:
    given = global_rank if group_rank is None else group_rank
    if not hasattr(given, "__index__") or (group_rank is not None and global_rank is not None):
        raise _no_rank(given)
    if group_rank is None:
        return group_rank_of(group, global_rank)  # type: ignore[arg-type]
    global_rank_of(group, group_rank)
    return group_rank


def _no_rank(given: Any) -> Exception:
    if given is None:
        return ValueError("Must specify global_rank or group_rank")
    if hasattr(given, "__index__"):
        return ValueError("Can't specify both group_rank and global_rank")
    return TypeError(f"a rank is an integer, but got {given!r} ({type(given).__name__})")
