"""The clocks of one collective where messages overtake each other: all that happens at one instant in
one go.

The rules are those of `overtaking`, whose loop is the simple form. At an instant all events come first that
let ranks go on. Then the ports take what has come meanwhile, by the senders' ranks. Where ranks are alike
many do the same thing at the same instant, and a schedule among 10,000 ranks is over after some dozens of
instants. A test says that both agree.

It is known before which receive takes which message: the n-th from a source takes the n-th that it sent. So
a rank's part is a row of numbers: message to send, message to wait for, span to add up.
"""

from __future__ import annotations

from heapq import heappop, heappush
from typing import Any

import numpy as np

from minitorch_dist.distributed.schedules.links import Links
from minitorch_dist.distributed.schedules.ports import Integers, Outcome, Ports, PortTimes
from minitorch_dist.distributed.schedules.schedule import Schedule, ScheduleError
from minitorch_dist.distributed.schedules.steps import Send, sides

SEND, WAIT, ADD, END = range(4)
NEVER = 1 << 60


class Script(Ports):
    """The actions of each rank: `kind[i]` and `what[i]` from `begin[rank]` on; and all messages."""

    def __init__(self, schedule: Schedule, sizes: Integers, links: Links, size: int, root: int | None = None) -> None:
        super().__init__(schedule, size, 0, 1, links, 0)
        self.cut(sizes)
        self._acts: list[tuple[Integers, int, Integers]] = []  # rank, kind, what
        self._sends: list[tuple[Integers, Integers, Integers]] = []  # source, to, bytes
        self._waits: list[tuple[Integers, Integers]] = []  # source, to
        self._sent = self._awaited = 0
        for step in schedule.everyone(size, root):
            self.take(step)
        columns = zip(*self._sends, strict=True)
        self.source, self.to, self.nbytes = [_joined(column) for column in columns] or [_joined([])] * 3
        self.hold = np.broadcast_to(links.occupancy(self.source, self.to, self.nbytes), self.source.shape)
        self.delay = np.broadcast_to(links.delay(self.source, self.to), self.source.shape)
        self._lay_out(self._matched())

    def take(self, step: Any) -> None:
        who = self.everyone
        if step.only is not True:
            who = np.flatnonzero(np.broadcast_to(np.asarray(step.only, bool), self.size))
        to, sent, source, taken = sides(step)
        if to is not None:
            self._sends.append((who, self._of(to, who), self._bytes(sent, who)))
            self._act(who, SEND, self._sent + np.arange(len(who)))
            self._sent += len(who)
        if source is not None:
            self._waits.append((self._of(source, who), who))
            self._act(who, WAIT, self._awaited + np.arange(len(who)))
            self._awaited += len(who)
        if not isinstance(step, Send) and step.reduce and self.links.gamma:
            self._act(who, ADD, self.links.gamma * self._bytes(sent if source is None else taken, who))

    def _act(self, who: Integers, kind: int, what: Integers) -> None:
        self._acts.append((who, kind, what))

    def _matched(self) -> Integers:
        """For each wait, its message."""
        source, to = [_joined(column) for column in zip(*self._waits, strict=True)] or [_joined([])] * 2
        sent, awaited = self.source * self.size + self.to, source * self.size + to
        sends, waits = np.argsort(sent, kind="stable"), np.argsort(awaited, kind="stable")
        if not np.array_equal(sent[sends], awaited[waits]):
            raise ScheduleError(f"{self.schedule} with {self.size} ranks: not each message is awaited")
        message = np.empty_like(waits)
        message[waits] = sends
        return message

    def _lay_out(self, message: Integers) -> None:
        self._act(self.everyone, END, self.everyone)
        rank = _joined([who for who, _, _ in self._acts])
        kind = np.repeat([kind for _, kind, _ in self._acts], [len(who) for who, _, _ in self._acts])
        what = _joined([what for _, _, what in self._acts])
        what[kind == WAIT] = message[what[kind == WAIT]]
        order = np.argsort(rank, kind="stable")
        self.kind, self.what = kind[order], what[order]
        self.begin = np.searchsorted(rank[order], self.everyone)


class BatchedOvertaking:
    """`script` played from where the ranks stand."""

    def __init__(self, script: Script, standing: PortTimes) -> None:
        self.script, self.size = script, script.size
        self.clock, self.tx, self.rx = (numbers.copy() for numbers in standing)
        self.first, self.last = np.full(self.size, NEVER), np.full(self.size, -1)
        self.at = script.begin.copy()  # what each rank does next
        self.has_landed = np.zeros(len(script.source), bool)
        self.instants: list[int] = []  # a heap
        self.landings: dict[int, list[Integers]] = {}  # messages, by instant
        self.arrivals: dict[int, list[Integers]] = {}
        self.going: dict[int, list[Integers]] = {}  # ranks that go on by themselves

    def run(self) -> None:
        self._put(self.going, self.clock, np.arange(self.size))
        while self.instants:
            now = self.instants[0]
            landed, going = self.landings.pop(now, None), self.going.pop(now, None)
            if landed is not None or going is not None:
                ranks = [] if going is None else going
                for messages in landed or ():
                    self.has_landed[messages] = True
                    ranks.append(self.script.to[messages])
                self._go_on(now, np.unique(_joined(ranks)))
            elif now in self.arrivals:
                self._arrive(now, _joined(self.arrivals.pop(now)))
            else:
                heappop(self.instants)
        if (self.script.kind[self.at] != END).any():
            raise ScheduleError(f"{self.script.schedule} stands still: ranks wait for ever")

    def _go_on(self, now: int, ranks: Integers) -> None:
        ranks = ranks[self.clock[ranks] <= now]  # others are busy with adding
        while len(ranks):
            at = self.at[ranks]
            kind, what = self.script.kind[at], self.script.what[at]
            goes = (kind != END) & ((kind != WAIT) | self.has_landed[np.where(kind == WAIT, what, 0)])
            ranks, kind, what = ranks[goes], kind[goes], what[goes]
            self.at[ranks] += 1
            self.clock[ranks] = now
            if (sends := kind == SEND).any():
                self._send(ranks[sends], what[sends])
            adds = (kind == ADD) & (what > 0)
            if adds.any():
                busy = ranks[adds]
                self.clock[busy] += what[adds]
                self._put(self.going, self.clock[busy], busy)
                ranks = ranks[~adds]

    def _send(self, ranks: Integers, messages: Integers) -> None:
        start = np.maximum(self.clock[ranks], self.tx[ranks])
        self.tx[ranks] = start + self.script.hold[messages]
        self._put(self.arrivals, start + self.script.delay[messages], messages)

    def _arrive(self, now: int, messages: Integers) -> None:
        """They pass the ports one after the other."""
        script = self.script
        messages = messages[np.lexsort((messages, script.source[messages], script.to[messages]))]
        to = script.to[messages]
        begins = np.concatenate([[True], to[1:] != to[:-1]])
        ports, group = to[begins], np.cumsum(begins) - 1
        passed = np.cumsum(script.hold[messages])
        before = passed[begins] - script.hold[messages][begins]
        landed = np.maximum(now, self.rx[to]) + passed - before[group]
        ends = np.concatenate([begins[1:], [True]])
        self.rx[ports] = landed[ends]
        self.first[ports] = np.minimum(self.first[ports], now)
        self.last[ports] = now
        self._put(self.landings, landed, messages)

    def _put(self, into: dict[int, list[Integers]], instants: Integers, what: Integers) -> None:
        first = int(instants[0]) if len(instants) else 0
        if (instants == first).all():
            parts = [(first, what)] if len(what) else []
        else:
            order = np.argsort(instants, kind="stable")
            sorted_by, what = instants[order], what[order]
            cuts = np.flatnonzero(sorted_by[1:] != sorted_by[:-1]) + 1
            parts = list(zip(sorted_by[[0, *cuts]].tolist(), np.split(what, cuts), strict=True))
        for instant, part in parts:
            if instant not in self.landings and instant not in self.arrivals and instant not in self.going:
                heappush(self.instants, instant)
            into.setdefault(instant, []).append(part)


def _joined(parts: Any) -> Integers:
    parts = list(parts)
    return np.concatenate(parts) if parts else np.zeros(0, np.int64)


def play(schedule: Schedule, sizes: Integers, links: Links, standing: PortTimes, root: int | None = None) -> Outcome:
    """Returns the same as `overtaking.play`."""
    played = BatchedOvertaking(Script(schedule, sizes, links, len(standing.clock), root), standing)
    played.run()
    return played.clock, played.tx, played.rx, played.first, played.last
