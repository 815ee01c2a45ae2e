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
from typing import Any

import numpy as np
from numpy.typing import NDArray

from minitorch_dist.distributed.schedules.arrivals import Arrivals, Overtaken, play
from minitorch_dist.distributed.schedules.everyone import Everyone
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


KEPT = 64  # answers of one simulation


class CountingPorts(Ports):
    """Counts what each rank sends and receives. `nodes`: on which node each rank is, where they differ."""

    def __init__(self, schedule: Schedule, sizes: NDArray[np.int64], size: int, nodes: Integers | None = None) -> None:
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


def meters(schedule: Schedule, sizes: NDArray[np.int64], size: int, nodes: Integers | None = None) -> Meters:
    """`sizes`: bytes of each chunk. `nodes`: on which node each rank is, where they differ."""
    meter = CountingPorts(schedule, sizes, size, nodes)
    for step in schedule.everyone(size):
        meter.take(step)
    found = meter.sends, meter.sent, meter.receives, meter.received, meter.added
    metered = Meters(*(meter.spread(numbers) for numbers in found))
    return metered if nodes is None else replace(metered, between_nodes=meter.between_nodes)


def move(
    schedule: Schedule,
    sizes: NDArray[np.int64],
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
    size, first = len(entry), int(entry[0])
    latest = max(int(entry.max()), int(tx.max()), int(rx.max()))
    if links.alike and latest == first == int(entry.min()):
        key = schedule, size, sizes.tobytes(), links
        found = None if kept is None else kept.get(key)
        if found is None:
            found = _moved(schedule, sizes, size, links, 0, 0, 0, "closed", plays)
            if kept is not None:
                kept[key] = found
        return found.later(first)
    start = int(entry.min())  # all that matters is relative to it; a port that was free is free
    entry, tx, rx = entry - start, np.maximum(tx - start, 0), np.maximum(rx - start, 0)
    asked = schedule, sizes.tobytes(), id(links), entry.tobytes(), tx.tobytes(), rx.tobytes()
    found = None if kept is None else kept.get(asked)
    if found is None:
        try:
            found = _moved(schedule, sizes, size, links, entry, tx.copy(), rx.copy(), "lockstep")
        except Overtaken:
            if not plays:
                raise
            found = Moved(*play(schedule, sizes, links, PortTimes(entry, tx, rx)), "one by one")
        if kept is not None and len(kept) < KEPT:
            kept[asked] = found
    return found.later(start)


def _moved(
    schedule: Schedule,
    sizes: NDArray[np.int64],
    size: int,
    links: Links,
    entry: Numbers,
    tx: Numbers,
    rx: Numbers,
    how: str,
    plays: bool = True,
) -> Moved:
    try:
        ports = Arrivals(schedule, size, 0, links, entry, tx, rx)
        ports.cut(sizes)
        for step in schedule(Everyone(size), size):
            ports.take(step)
        ports.check_end()
    except Overtaken:
        if how != "closed" or not plays:
            raise
        return Moved(*play(schedule, sizes, links, PortTimes.free(size)), how)
    clock, tx, rx = (ports.spread(numbers) for numbers in (ports.clock, ports.tx, ports.rx))
    return Moved(clock, tx, rx, ports.first, ports.last, how)
