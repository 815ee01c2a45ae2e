"""Light messages: those of a collective without their bytes, each of them an event of the network.

    a rank enters ──► its row of acts: SEND 17, WAIT 4, ADD 800 ps, … END ──► it goes on
                          │                ▲
                          ▼                │
                     the medium: the same ports, the same counters, the same order

Where ranks leave a collective at different instants, the first messages of the next one meet the last ones
of this at the ports. So the clocks of one collective cannot be moved together without looking at the other
(see `lockstep`). Then its messages pass the medium one by one, as they would anyway, so times are exact
whatever passes beside them; but nobody packs, matches and unpacks them.

The need for such messages is known late, when some of the past is over. `catch_up` plays that past, in a
time of its own, up to the present.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Hashable, Sequence
from typing import Any, NamedTuple

from minitorch_dist.distributed.schedules.batched_overtaking import ADD, SEND, WAIT, Script
from transports.virtual.event_queue import EventQueue
from transports.virtual.medium import Medium, SimMessage

MOST = 300_000  # messages of one collective: about a second
KEPT = 1_000_000  # messages whose rows are kept for the next time: about 200 MB


class Rows(NamedTuple):
    """A script as lists: faster, where one looks at one entry at a time."""

    begin: list[int]
    kind: list[int]
    what: list[int]
    source: list[int]
    to: list[int]
    nbytes: list[int]


def rows(script: Script) -> Rows:
    columns = (script.begin, script.kind, script.what, script.source, script.to, script.nbytes)
    return Rows(*(column.tolist() for column in columns))


class KeptRows:
    """Rows by a key, for the next time; the oldest leave when there are too many."""

    def __init__(self) -> None:
        self._kept: dict[Hashable, Rows] = {}

    def get(self, key: Hashable, script: Callable[[], Script]) -> Rows:
        found = self._kept.get(key)
        if found is None:
            while sum(len(kept.source) for kept in self._kept.values()) > KEPT:
                del self._kept[next(iter(self._kept))]
            found = self._kept[key] = rows(script())
        return found

    def __repr__(self) -> str:
        return f"<KeptRows of {len(self._kept)} collectives>"


class Light(SimMessage):
    """A message of which only the number and the length are known."""

    __slots__ = ("number",)

    def __init__(self, medium: Medium, src: CollectiveRank, dst: CollectiveRank, number: int, nbytes: int) -> None:
        self.medium, self.src, self.dst = medium, src, dst  # it has no header and no payload
        self.number, self.nbytes = number, nbytes


class Traffic:
    """One collective under way. `over(seat)` is called when a rank of the group is done."""

    def __init__(self, medium: Medium, of: Rows, ranks: Sequence[int], over: Callable[[int], None]) -> None:
        self.medium, self.rows, self.over = medium, of, over
        self.has_landed = bytearray(len(of.source))
        self.seats = [CollectiveRank(self, number, rank, of.begin[number]) for number, rank in enumerate(ranks)]
        self.receivers: list[Any] = [self.seats[to] for to in of.to]  # of each message
        self.left = len(ranks)  # ranks that are not done
        self.is_stopped = False

    def enter(self, seat: int) -> None:
        """A rank begins, now."""
        self.seats[seat].go()

    def catch_up(self, entries: Sequence[int]) -> None:
        """Ranks have begun at these instants, the last of them now."""
        past, clock = Past(), self.medium.clock
        now = clock.now()
        for seat, instant in zip(self.seats, entries, strict=True):
            past.at(instant, seat.go)
        with self.medium.at_another_time(past):
            past.event_queue.advance_until(now)
        for instant, act in past.event_queue.leave():
            if instant == now:  # with all else that happens in it
                act()
            else:
                clock.at(instant, act)

    def stop(self) -> None:
        """Nobody goes on; messages on their way do not arrive."""
        self.is_stopped = True

    def __repr__(self) -> str:
        landed = sum(self.has_landed)
        return f"<Traffic, {landed} of {len(self.has_landed)} messages have landed, {self.left} seats not done>"


class Past:
    """The time in which what is over is played."""

    def __init__(self) -> None:
        self.event_queue = EventQueue(deque(), None, None)
        self.at, self.settle = self.event_queue.at, self.event_queue.settle

    def now(self) -> int:
        return self.event_queue.now


class CollectiveRank:
    """A rank of the group, in this collective: a place in its row of acts."""

    __slots__ = ("at", "awaits", "number", "rank", "traffic")

    def __init__(self, traffic: Traffic, number: int, rank: int, at: int) -> None:
        self.traffic, self.number, self.rank, self.at = traffic, number, rank, at
        self.awaits = -1  # the message without which it cannot go on

    def go(self) -> None:
        """As far as the messages that are there allow."""
        traffic = self.traffic
        if traffic.is_stopped:
            return
        kinds, whats, at = traffic.rows.kind, traffic.rows.what, self.at
        while True:
            kind, what = kinds[at], whats[at]
            if kind == WAIT:
                if not traffic.has_landed[what]:
                    self.at, self.awaits = at, what
                    return
            elif kind == SEND:
                medium, nbytes = traffic.medium, traffic.rows.nbytes[what]
                medium.transmit(Light(medium, self, traffic.receivers[what], what, nbytes))
            elif kind == ADD:
                if what:
                    self.at = at + 1
                    times = traffic.medium.times
                    times.at(times.now() + what, self.go)
                    return
            else:
                traffic.left -= 1
                return traffic.over(self.number)
            at += 1

    # ------------------------------------------------------------- what its messages see of a rank

    landed = None  # it need not know when its own messages land
    is_over = False

    def take(self, message: Any) -> None:
        self.traffic.has_landed[message.number] = True
        if message.number == self.awaits:
            self.awaits = -1
            self.go()

    def lose(self, *_: object) -> None:
        raise AssertionError("what is disturbed goes by real messages")

    kill = set_out = lose

    def __repr__(self) -> str:
        what = f"waits for message {self.awaits}" if self.awaits >= 0 else "goes on"
        return f"<Seat of rank {self.rank}, {what}>"
