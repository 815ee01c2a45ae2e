"""Ranks that wait for each other for ever, over real wires: found after seconds, not after a timeout.

    rank 0  waits for rank 2 in all_reduce #0 of group 'dp'        each pins this to the store (see `flight`),
    rank 2  waits for rank 0 in all_reduce #0 of group 'tp'        and looks at what the others have pinned

A note tells the waits of a rank's threads, and where its program stands. It tells how many operations of each group
it has begun, and how many messages have gone between two ranks. So nothing is taken for a wait that a message on
its way will end. A circle counts if it is the same at two looks, and each rank in it wrote its note anew between
them. Then all were waiting at once, and none of them can move.
"""

from __future__ import annotations

import json
import sys
from collections import Counter
from collections.abc import Callable, Mapping
from threading import get_ident  # noqa: TID251 - tells threads apart; nothing waits
from typing import Final, NamedTuple

from minitorch_dist.distributed.mail import wire
from minitorch_dist.distributed.mail.mailbox import Mailbox
from minitorch_dist.distributed.mail.receives import PostedReceive
from minitorch_dist.distributed.mail.traffic import Traffic
from transports.errors import Deadlock

SHOWN: Final = 16  # ranks
LONGEST: Final = 64  # of a way from rank to rank that is followed

OF_GROUPS: Final = (
    ". They wait in different groups: all ranks must make the groups in one order, and call what concerns two groups "
    "in one order"
)


class Wait(NamedTuple):
    """A thread of a rank waits for a message of rank `source`."""

    serial: int
    group: int
    sequence: int
    source: int
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


class CircleFinder:
    """One rank's waits, and its looks at those of the others."""

    def __init__(self, mailbox: Mailbox, traffic: Traffic) -> None:
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
            begun = {
                f"{number}": getattr(channel, "count", 0) for number, channel in mailbox.channels.items()
            }
            early = [each for each in mailbox.strangers(b"") if each.header[8:16] == _MESSAGE]
        came = Counter(self._traffic.came)
        for each in early:
            came[each.sender] += 1
        waits, sent = list(self._waits.values()), self._traffic.sends
        return Note(self._beat, waits, self._of_program(), begun, _by_text(sent), _by_text(came))

    def _of_program(self) -> int | None:
        """The wait by which the program is held up. Where several of its threads communicate, that is not known."""
        waits, traffic = dict(self._waits), self._traffic
        callers = traffic.callers & sys._current_frames().keys() - traffic.workers.keys()
        if len(callers) != 1:
            return None
        (caller,) = callers
        if caller in waits:
            return waits[caller].serial
        group = traffic.awaited.get(caller)
        found = [w.serial for thread, w in waits.items() if group and traffic.workers.get(thread) == group]
        return found[0] if len(found) == 1 else None

    def look(self, read: Callable[[int], str]) -> Deadlock | None:
        """Follow the waits from the caller's on. The error, if they lead into a circle for the second time."""
        before, self._before = self._before, {}
        notes, way = self._way(read)
        if not way or not all(rank in before and _is_same(before[rank], notes[rank]) for rank, _ in way):
            if way:
                self._before = {rank: notes[rank] for rank, _ in way}
            return None
        return _deadlock(way)

    def _way(self, read: Callable[[int], str]) -> tuple[dict[int, Note], list[tuple[int, Wait]]]:
        """The notes on the way, and the way if it ends in a circle; else none."""
        rank, wait = self._mailbox.rank, self._waits.get(get_ident())
        notes: dict[int, Note] = {rank: self.note()}
        way: list[tuple[int, Wait]] = []
        while wait is not None and wait.source >= 0 and len(way) < LONGEST:
            if (rank, wait) in way:
                return notes, way
            way.append((rank, wait))
            there = notes.get(wait.source) or Note.read(read(wait.source))
            if there is None:
                break
            notes[wait.source] = there
            rank, wait = wait.source, _held_up_by(wait, rank, notes[rank], there)
        return notes, []

    def __repr__(self) -> str:
        return f"<CircleFinder of rank {self._mailbox.rank}, {len(self._waits)} waits>"


_MESSAGE: Final = wire.POINT_TO_POINT.to_bytes(8, "little")


def _by_text(counts: Mapping[int, int]) -> dict[str, int]:
    """With keys as JSON has them."""
    return {f"{rank}": count for rank, count in counts.items()}


def _held_up_by(wait: Wait, rank: int, here: Note, there: Note) -> Wait | None:
    """The wait of the source, without whose end it will not send what `rank` waits for. None if it may send it."""
    if wait.is_point_to_point:
        is_under_way = there.sent.get(f"{rank}", 0) != here.came.get(f"{wait.source}", 0)
        return None if is_under_way else there.of_program()
    for each in there.waits:
        if each.group == wait.group and not each.is_point_to_point and each.sequence <= wait.sequence:
            return each
    return None if there.begun.get(f"{wait.group}", 0) > wait.sequence else there.of_program()


def _is_same(before: Note, now: Note) -> bool:
    """Whether a rank has written its note again, and nothing has happened there meanwhile."""
    return now.beat > before.beat and before._replace(beat=now.beat) == now


def _deadlock(way: list[tuple[int, Wait]]) -> Deadlock:
    from transports.virtual.deadlock import advice, listed  # the words of simulations

    waits = {rank: [wait.source] for rank, wait in way}
    lines = [
        f"\n  rank {rank} waits for rank {wait.source} in {wait.what}" for rank, wait in sorted(way)[:SHOWN]
    ]
    return Deadlock(
        f"deadlock: {listed(sorted(waits))} wait, and nothing is under way that could wake them"
        f"{''.join(lines)}\n{advice(waits, ())}{OF_GROUPS if len({wait.group for _, wait in way}) > 1 else ''}"
    )
