"""The clocks of all ranks of one collective, moved together: one vector operation for each step.

This is the bill of `schedules.ports`, begun where each rank stands: with its own entry, and with ports
that may still be busy. A port of the simulated network serves messages as they come, the bill as they
are asked for. While messages come in the order in which they are asked for, both are the same to the
picosecond, and that is checked at every step; where one overtakes, the answer is found message by
message (see `schedules.arrivals`).

If all ranks come at one instant, and are alike, the answer depends on nothing but the schedule and the
length: it is computed once and kept. That is the engine `closed`.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, TypeAlias

import numpy as np

from minitorch_dist.distributed.schedules.arrivals import Arrivals, Overtaken, play
from minitorch_dist.distributed.schedules.links import Links
from minitorch_dist.distributed.schedules.ports import Integers, Numbers, Ports, PortTimes
from minitorch_dist.distributed.schedules.schedule import Schedule


@dataclass(frozen=True)
class Moved:
    """The effect of a collective on its ranks' clocks and ports, in picoseconds."""

    clock: Integers  # when each rank is done
    tx: Integers  # when its ports are free again
    rx: Integers
    first: Integers  # when the first of its messages reaches each rank's port,
    last: Integers  # and the last one
    how: str  # "closed", "lockstep", "one by one"

    @property
    def is_settled(self) -> bool:
        """Whether all messages have reached their ports before any rank is done: then nothing that
        ranks send afterwards can meet them."""
        return int(self.clock.min()) > int(self.last.max())

    def later(self, span: int) -> Moved:
        return Moved(self.clock + span, self.tx + span, self.rx + span, self.first + span, self.last + span, self.how)


@dataclass(frozen=True)
class Meters:
    """The messages and bytes that each rank sends and receives. They do not depend on the time."""

    messages: Integers
    nbytes: Integers
    messages_in: Integers
    nbytes_in: Integers
    added: Integers  # bytes
    between_nodes: Integers | None = None  # of `nbytes`; None: nothing leaves a node


KEPT = 64  # answers of one simulation, of ranks that do not come at one instant
Begin: TypeAlias = tuple[Numbers, Numbers, Numbers]  # clocks and both ports: numbers while all ranks are alike


class CountingPorts(Ports):
    """Counts what each rank sends and receives. `nodes`: on which node each rank is, where they differ."""

    def __init__(self, schedule: Schedule, sizes: Integers, size: int, nodes: Integers | None = None) -> None:
        super().__init__(schedule, size, 0, 1, Links(), 0)
        self.cut(sizes)
        self.nodes, self.between_nodes = nodes, np.zeros(size, np.int64)
        self._leaves: dict[int, Integers] = {}  # by turn: 1 where a rank's message leaves its node
        self.sends: Numbers = 0
        self.receives: Numbers = 0
        self.received: Numbers = 0
        self.added: Numbers = 0

    def _send(self, who: Integers, to: Any, chunks: Any, step: Any) -> None:
        super()._send(who, to, chunks, step)
        batch = self.under_way[-1]
        self.sends, self.receives, self.received = (self.spread(n) for n in (self.sends, self.receives, self.received))
        self.sends[who] += 1
        self.receives += np.bincount(batch.to, minlength=self.size)
        np.add.at(self.received, batch.to, batch.nbytes)
        if self.nodes is not None:
            leaves = self.nodes[who] != self.nodes[batch.to]
            self.between_nodes[who] += leaves * batch.nbytes

    def _receive(self, who: Integers, source: Any, chunks: Any, step: Any) -> None:
        super()._receive(who, source, chunks, step)
        if step.reduce:
            self._add(who, chunks)

    def _combine(self, who: Integers, step: Any) -> None:
        if step.reduce:
            self._add(who, step.of)

    def _add(self, who: Integers, chunks: Any) -> None:
        self.added = self.spread(self.added)
        self.added[who] += self._bytes(chunks, who)

    def _turn(self, step: Any) -> None:
        super()._turn(step)
        nbytes, _ = self._round_bytes(step.receive)
        if step.reduce:
            self.added = self.added + nbytes
        self.sends, self.receives = self.sends + 1, self.receives + 1
        self.received = self.received + nbytes
        if self.nodes is not None:
            turn = step.to.turn
            if turn not in self._leaves:
                self._leaves[turn] = (self.nodes != np.roll(self.nodes, -turn)).astype(np.int64)
            self.between_nodes += self._leaves[turn] * self._round_bytes(step.send)[0]


def meters(schedule: Schedule, sizes: Integers, size: int, nodes: Integers | None = None) -> Meters:
    """`sizes`: bytes of each chunk. `nodes`: on which node each rank is, where they differ."""
    meter = CountingPorts(schedule, sizes, size, nodes)
    for step in schedule.everyone(size):
        meter.take(step)
    found = meter.sends, meter.sent, meter.receives, meter.received, meter.added
    metered = Meters(*(meter.spread(numbers) for numbers in found))
    return metered if nodes is None else replace(metered, between_nodes=meter.between_nodes)


def move(
    schedule: Schedule,
    sizes: Integers,
    links: Links,
    entry: Integers,
    tx: Integers,
    rx: Integers,
    kept: dict[Any, Moved] | None = None,
    plays: bool = True,
) -> Moved:
    """When each rank is done that begins at `entry`, with ports that are free at `tx` and `rx`.

    `kept` is for what need not be computed twice. Overtaken if messages overtake, and it shall not be
    played message by message.
    """
    start, latest = int(entry.min()), max(int(entry.max()), int(tx.max()), int(rx.max()))
    begin: Begin = 0, 0, 0
    if not links.alike or latest > start:  # all that matters is relative to it; a port that was free is free
        begin = entry - start, np.maximum(tx - start, 0), np.maximum(rx - start, 0)
    kept = {} if kept is None else kept
    asked = schedule, len(entry), sizes.tobytes(), links if links.alike else id(links), np.array(begin).tobytes()
    found = kept.get(asked)
    if found is None:
        found = _moved(schedule, sizes, len(entry), links, begin, plays)
        if found.how == "closed" or len(kept) < KEPT:
            kept[asked] = found
    return found.later(start)


def _moved(schedule: Schedule, sizes: Integers, size: int, links: Links, begin: Begin, plays: bool) -> Moved:
    is_closed = isinstance(begin[0], int)
    own = PortTimes(*[np.full(size, each, np.int64) for each in begin])
    try:
        ports = Arrivals(schedule, size, 0, links, *begin)
        ports.cut(sizes)
        for step in schedule.everyone(size):
            ports.take(step)
        ports.check_end()
    except Overtaken:
        if not plays:
            raise
        return Moved(*play(schedule, sizes, links, own), "closed" if is_closed else "one by one")
    clock, tx, rx = (ports.spread(numbers) for numbers in (ports.clock, ports.tx, ports.rx))
    return Moved(clock, tx, rx, ports.first, ports.last, "closed" if is_closed else "lockstep")
