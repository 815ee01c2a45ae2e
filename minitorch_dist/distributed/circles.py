"""Ranks that wait for each other for ever, over real wires: found after seconds, not after a timeout.

    rank 0  waits for rank 2 in all_reduce #0 of group 'dp'        each pins this to the store (see `flight`),
    rank 2  waits for rank 0 in all_reduce #0 of group 'tp'        and looks at what the others have pinned

A note tells the waits of a rank's threads, and where its program stands. It tells how many operations of each group
it has begun, and how many messages have gone between two ranks. So nothing is taken for a wait that a message on
its way will end. Waits that lead only to each other count if they do so at two looks, and each of these ranks wrote its
note anew between them. Then all were waiting at once, and none of them can move.
"""

from __future__ import annotations

import json
import sys
from collections import Counter
from collections.abc import Callable, Mapping
from threading import Thread, enumerate as living, get_ident, main_thread  # noqa: TID251 - tells threads apart; nothing waits
from typing import Final, NamedTuple

from minitorch_dist.distributed.mail import wire
from minitorch_dist.distributed.mail.mailbox import Mailbox
from minitorch_dist.distributed.mail.receives import PostedReceive
from minitorch_dist.distributed.mail.traffic import MessageCounts
from transports.clock import SystemThread
from transports.errors import Deadlock

SHOWN: Final = 16  # ranks
LONGEST: Final = 64  # waits that are followed

OF_GROUPS: Final = (
    ". They wait in different groups: all ranks must make the groups in one order, and call what concerns two groups "
    "in one order"
)


class Wait(NamedTuple):
    """A thread of a rank waits for a message of rank `source`."""

    serial: int
    group: int
    sequence: int
    source: int  # -1: of anybody
    what: str

    @property
    def is_point_to_point(self) -> bool:
        return self.sequence == wire.POINT_TO_POINT


class Note(NamedTuple):
    """One rank's state. `program`: the wait that the program itself is held up by, if it is by one."""

    beat: int
    waits: list[Wait]
    program: int | None
    begun: Mapping[str, int]
    sent: Mapping[str, int]
    came: Mapping[str, int]

    def written(self) -> str:
        return json.dumps(self)

    @classmethod
    def read(cls, text: str) -> Note | None:
        if not text:
            return None
        beat, waits, *rest = json.loads(text)
        return cls(beat, [Wait(*wait) for wait in waits], *rest)

    def of_program(self) -> Wait | None:
        return next((wait for wait in self.waits if wait.serial == self.program), None)


Node = tuple[int, Wait]  # a rank, and one of its waits


class CircleFinder:
    """One rank's waits, and its looks at those of the others."""

    def __init__(self, mailbox: Mailbox, traffic: MessageCounts) -> None:
        self._mailbox, self._traffic = mailbox, traffic
        self._waits: dict[int, Wait] = {}  # by thread
        self._serial = self._beat = 0
        self._before: dict[int, Note] = {}  # the ranks of a circle, as the last look found them

    def enter(self, receive: PostedReceive) -> None:
        """The calling thread waits for this, or still does."""
        if get_ident() in self._waits:
            return
        group, sequence = wire.GROUP_AND_SEQUENCE.unpack_from(receive.match)
        self._serial += 1
        source = -1 if receive.source is None else receive.source
        self._waits[get_ident()] = Wait(self._serial, group, sequence, source, receive.owner.describe())

    def leave(self) -> None:
        self._waits.pop(get_ident(), None)

    def note(self) -> Note:
        mailbox = self._mailbox
        self._beat += 1
        with mailbox.lock:
            begun = {f"{number}": getattr(channel, "count", 0) for number, channel in mailbox.channels.items()}
            early = [each for each in mailbox.strangers(b"") if each.header[8:16] == _MESSAGE]
        came = Counter(self._traffic.came)
        for each in early:
            came[each.sender] += 1
        waits, sent = list(self._waits.values()), self._traffic.sends
        return Note(self._beat, waits, self._of_program(), begun, _by_text(sent), _by_text(came))

    def _of_program(self) -> int | None:
        """The wait by which the program is held up. Where several of its threads communicate, or might, that is not known."""
        waits, traffic = dict(self._waits), self._traffic
        callers = traffic.callers & sys._current_frames().keys() - traffic.workers.keys()
        if len(callers) != 1:
            return None
        (caller,) = callers
        if any(_may_act(thread, caller) for thread in living()):
            return None
        if caller in waits:
            return waits[caller].serial
        group = traffic.awaited.get(caller)
        found = [w.serial for thread, w in waits.items() if group and traffic.workers.get(thread) == group]
        return found[0] if len(found) == 1 else None

    def look(self, read: Callable[[int], str]) -> Deadlock | None:
        """Follow the waits from the caller's on. The error, if they can never end, and could not at the last look."""
        before, self._before = self._before, {}
        notes, stuck = self._stuck(read)
        if stuck and all(rank in before and _is_same(before[rank], notes[rank]) for rank, _ in stuck):
            return _deadlock(stuck)
        self._before = {rank: notes[rank] for rank, _ in stuck}
        return None

    def _stuck(self, read: Callable[[int], str]) -> tuple[dict[int, Note], list[Node]]:
        """The notes of the ranks that were asked, and the waits that only end if others of them do; none if the
        caller's may end."""
        own, waiting = self._mailbox.rank, self._waits.get(get_ident())
        notes: dict[int, Note] = {own: self.note()}
        following: dict[Node, list[Node] | None] = {}
        todo: list[Node] = [] if waiting is None else [(own, waiting)]
        begin = list(todo)
        while todo and len(following) < LONGEST:
            rank, wait = node = todo.pop()
            if node not in following:
                following[node] = self._those_after(rank, wait, notes, read)
                todo += following[node] or []
        free = {node for node, after in following.items() if after is None}
        while more := [n for n, after in following.items() if n not in free and not free.isdisjoint(after or ())]:
            free.update(more)
        stuck = [node for node in following if node not in free]
        return notes, stuck if not todo and begin and begin[0] in stuck else []

    def _those_after(
        self, rank: int, wait: Wait, notes: dict[int, Note], read: Callable[[int], str]
    ) -> list[Node] | None:
        """The waits that hold up those who could send what is waited for. None if one of them is free to send it."""
        everybody = [other for other in range(self._mailbox.world_size) if other != rank]
        after: list[Node] = []
        for source in [wait.source] if wait.source >= 0 else everybody:
            there = notes.get(source) or Note.read(read(source))
            held = None if there is None else _held_up_by(wait, source, rank, notes[rank], there)
            if there is None or held is None:
                return None
            notes[source] = there
            after.append((source, held))
        return after


_MESSAGE: Final = wire.POINT_TO_POINT.to_bytes(8, "little")


OF_RANK: Final = "rank "
CALLED: Final = ("rpc ", "replica ")  # threads of ours that run functions of the program
HARMLESS: Final = ("multiprocessing", "tqdm", "tensorboard", "torch.utils.data")


def _may_act(thread: Thread, caller: int) -> bool:
    """Whether this thread might send something for the program, though it has not waited so far. Most threads of ours, and
    those of some packages, do not. A thread that `World.start` starts is among the callers from its beginning."""
    if thread.ident == caller:
        return False
    if isinstance(thread, SystemThread):
        return thread.name.startswith(CALLED)
    if thread is main_thread():  # where ranks are threads, it has started them
        return not any(each.ident == caller and each.name.startswith(OF_RANK) for each in living())
    kind = type(thread).__module__
    if kind == "threading":
        kind = getattr(getattr(thread, "_target", None), "__module__", None) or ""
    return not kind.startswith(HARMLESS)


def _by_text(counts: Mapping[int, int]) -> dict[str, int]:
    """With keys as JSON has them."""
    return {f"{rank}": count for rank, count in counts.items()}


def _held_up_by(wait: Wait, source: int, rank: int, here: Note, there: Note) -> Wait | None:
    """The wait of `source`, without whose end it will not send what `rank` waits for. None if it may send it."""
    if wait.is_point_to_point:
        is_under_way = there.sent.get(f"{rank}", 0) != here.came.get(f"{source}", 0)
        return None if is_under_way else there.of_program()
    for each in there.waits:
        if each.group == wait.group and not each.is_point_to_point and each.sequence <= wait.sequence:
            return each
    return None if there.begun.get(f"{wait.group}", 0) > wait.sequence else there.of_program()


def _is_same(before: Note, now: Note) -> bool:
    """Whether a rank has written its note again, and nothing has happened there meanwhile."""
    return now.beat > before.beat and before._replace(beat=now.beat) == now


def _deadlock(stuck: list[Node]) -> Deadlock:
    from transports.virtual.deadlock import advice, listed  # the words of simulations

    waits = {rank: [wait.source] if wait.source >= 0 else [] for rank, wait in stuck}
    lines = [
        f"\n  rank {rank} waits for {'anybody' if wait.source < 0 else f'rank {wait.source}'} in {wait.what}"
        for rank, wait in sorted(stuck)[:SHOWN]
    ]
    return Deadlock(
        f"deadlock: {listed(sorted(waits))} wait, and nothing is under way that could wake them"
        f"{''.join(lines)}\n{advice(waits, ())}{OF_GROUPS if _are_of_groups(stuck) else ''}"
    )


def _are_of_groups(stuck: list[Node]) -> bool:
    """Whether they wait in operations of different groups."""
    return len({wait.group for _, wait in stuck if not wait.is_point_to_point}) > 1
