"""Clocks and ports of all ranks: the model of `links`, one vector operation at a time.

The steps are taken from the schedule with `Everyone` for a rank, so one step is a handful of vector
operations whatever the number of ranks. Each rank has a clock, and a transmit and a receive port:

    send       start  = max(own clock, tx free)            tx free = start + α + βm
    receive    landed = max(the message's start, rx free) + α + βm = rx free
               clock  = max(own clock, landed), + γm where it is added

A port serves messages in the order in which its rank asks for them. As long as all ranks are alike a
clock is one number; a step round the circle moves vectors by slices. `replay` computes the same
message by message.
"""

from __future__ import annotations

from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from minitorch_dist.distributed.schedules.everyone import Everyone
from minitorch_dist.distributed.schedules.links import Links
from minitorch_dist.distributed.schedules.schedule import Schedule, ScheduleError
from minitorch_dist.distributed.schedules.steps import Chunks, Combine, Exchange, Rank, Span, sides

Integers = NDArray[np.int64]
Numbers = Any  # an int while all ranks are alike, else Integers


class PortTimes(NamedTuple):
    """Where the ranks stand: the clock of each, and when its ports are free."""

    clock: Integers
    tx: Integers
    rx: Integers

    @classmethod
    def free(cls, size: int) -> PortTimes:
        """All at 0. A player of a schedule copies them."""
        return cls(*[np.zeros(size, np.int64)] * 3)


Outcome: TypeAlias = tuple[Integers, Integers, Integers, Integers, Integers]
"""When each rank is done, its ports are free, and messages first and last come to it (see `sim.fast.lockstep.Moved`)."""


class StepMessages(NamedTuple):
    """Messages of one step that are under way, at most one per sender."""

    source: Integers
    to: Integers
    nbytes: Integers
    start: Integers


class Ports:
    """Clocks, ports and meters of all ranks; numbers while the ranks are alike, arrays after."""

    def __init__(self, schedule: Schedule, size: int, count: int, itemsize: int, links: Links, entry: Numbers) -> None:
        self.schedule, self.size, self.links = schedule, size, links
        self.everyone = np.arange(size, dtype=np.int64)
        self.clock: Numbers = entry if isinstance(entry, int) else np.array(entry, np.int64)
        self.tx: Numbers = 0
        self.rx: Numbers = 0
        self.sent: Numbers = 0
        self.messages = 0
        self.under_way: list[StepMessages] = []
        self.total = schedule.total(size)
        self.cut(schedule.sizes(size, count) * itemsize)

    def cut(self, sizes: Integers) -> None:
        """Let the chunks have so many bytes."""
        self.sizes, self.round_sizes = sizes, np.concatenate([sizes, sizes])
        self.ends = np.concatenate([[0], np.cumsum(self.round_sizes)])
        self.same_size: int | None = int(sizes[0]) if len(set(sizes.tolist())) == 1 else None
        self._costs: Any = self.links.occupancy(0, 0, self.round_sizes) if self.links.alike else None

    def take(self, step: Any) -> None:
        """One step of all ranks."""
        if type(step) is Exchange and step.only is True and self._goes_round(step):
            self._turn(step)
            return
        if step.only is False:
            return
        who = self.everyone
        if step.only is not True:
            who = np.flatnonzero(step.only)
            if not len(who):
                return
        to, sent, source, taken = sides(step)
        if to is not None:
            self._send(who, to, sent, step)
        if source is not None:
            self._receive(who, source, taken, step)
        elif to is None:
            self._combine(who, step)

    # -- the simple form: some ranks, any partners ----------------------------------------------

    def _send(self, who: Integers, to: Rank, chunks: Chunks, step: Any) -> None:
        to, nbytes = self._of(to, who), self._bytes(chunks, who)
        self._check_peers(who, to, step)
        self._become_arrays()
        start = np.maximum(self.clock[who], self.tx[who])
        self.tx[who] = start + self.links.occupancy(who, to, nbytes)
        self.sent[who] += nbytes
        self.messages += len(who)
        self.under_way.append(StepMessages(who, to, nbytes, start))

    def _receive(self, who: Integers, source: Rank, chunks: Chunks, step: Any) -> None:
        source, wanted = self._of(source, who), self._bytes(chunks, who)
        self._check_peers(who, source, step)
        self._become_arrays()
        start, nbytes = self._pick(who, source, step)
        if (nbytes != wanted).any():
            worst = int(np.flatnonzero(nbytes != wanted)[0])
            raise ScheduleError(
                f"{self.schedule} with {self.size} ranks: rank {who[worst]} takes {wanted[worst]} "
                f"bytes from rank {source[worst]}, which sent {nbytes[worst]}"
            )
        arrival = start + self.links.delay(source, who)
        self._arrive(who, source, arrival)
        reached = np.maximum(arrival, self.rx[who])
        landed = reached + self.links.occupancy(source, who, nbytes)
        self.rx[who] = landed
        after = np.maximum(self.clock[who], landed)
        self.clock[who] = after + self.links.gamma * nbytes if step.reduce else after

    def _combine(self, who: Integers, step: Combine) -> None:
        if step.reduce and self.links.gamma:
            self._become_arrays()
            self.clock[who] += self.links.gamma * self._bytes(step.of, who)

    def _pick(self, who: Integers, source: Integers, step: Any) -> tuple[Integers, Integers]:
        """For each receiver the oldest message that its source has sent to it."""
        start, nbytes = np.zeros_like(who), np.zeros_like(who)
        missing = np.ones(len(who), dtype=bool)
        left: list[StepMessages] = []
        for batch in self.under_way:
            place = np.full(self.size, -1, dtype=np.int64)
            place[batch.source] = np.arange(len(batch.source))
            at = place[source]
            found = missing & (at >= 0) & (batch.to[at] == who)
            start[found], nbytes[found] = batch.start[at[found]], batch.nbytes[at[found]]
            missing &= ~found
            stays = np.ones(len(batch.source), dtype=bool)
            stays[at[found]] = False
            if stays.any():
                left.append(StepMessages(*[column[stays] for column in batch]))
        self.under_way = left
        if missing.any():
            first = int(np.flatnonzero(missing)[0])
            raise ScheduleError(
                f"{self.schedule} with {self.size} ranks: rank {who[first]} waits for a message from "
                f"rank {source[first]} that has not been sent by then, in a {type(step).__name__}"
            )
        return start, nbytes

    # -- the fast form: everyone, round the circle ---------------------------------------------

    def _goes_round(self, step: Exchange) -> bool:
        """Whether each rank sends as far to one side as it receives from the other."""
        to, source = step.to, step.source
        return (
            isinstance(to, Everyone)
            and isinstance(source, Everyone)
            and to.is_round
            and source.is_round
            and (to.turn + source.turn) % self.size == 0 != to.turn
            and not self.under_way
            and self.links.alike
        )

    def _turn(self, step: Exchange) -> None:
        nbytes, occupied = self._round_bytes(step.send)
        start = _max(self.clock, self.tx)
        self.tx = start + occupied
        self.sent = self.sent + nbytes
        self.messages += self.size
        from_left = step.source.turn
        arrival = _turned(start, from_left) + self.links.wire
        self._arrive(None, from_left, arrival)
        reached = _max(arrival, self.rx)
        landed = self.rx = reached + _turned(occupied, from_left)
        self.clock = _max(self.clock, landed)
        if step.reduce and self.links.gamma:
            self.clock = self.clock + self.links.gamma * _turned(nbytes, from_left)

    def _round_bytes(self, chunks: Chunks) -> tuple[Numbers, Numbers]:
        """Bytes of a message and how long they keep a port."""
        if isinstance(chunks, Everyone) and chunks.is_round and len(self.sizes) == self.size:
            if self.same_size is not None:
                return self.same_size, self.links.occupancy(0, 0, self.same_size)
            part = slice(chunks.turn, chunks.turn + self.size)
            return self.round_sizes[part], self._costs[part]
        nbytes = self._bytes(chunks, self.everyone)
        if len(nbytes) and (nbytes == nbytes[0]).all():
            return int(nbytes[0]), self.links.occupancy(0, 0, int(nbytes[0]))
        return nbytes, self.links.occupancy(0, 0, nbytes)

    def _arrive(self, who: Integers | None, source: Any, arrival: Numbers) -> None:
        """A message reaches each port of `who` from its `source`; where `who` is None everybody's,
        from whom is `source` places further round."""

    # -- small change --------------------------------------------------------------------------

    def _bytes(self, chunks: Chunks, who: Integers) -> Integers:
        if isinstance(chunks, tuple) and not isinstance(chunks, Span):
            together = np.zeros(len(who), dtype=np.int64)
            for part in chunks:
                together += self._bytes(part, who)
            return together
        if isinstance(chunks, Span):
            start, count = self._of(chunks.start, who), self._of(chunks.count, who)
            first = start % len(self.sizes)
            last: Integers = first + count
            if (last >= len(self.ends)).any():
                raise ScheduleError(
                    f"{self.schedule} with {self.size} ranks: a message of {count.max()} chunks, "
                    f"but there are only {self.total}"
                )
            between: Integers = self.ends[last] - self.ends[first]
            return between
        found: Integers = self.sizes[self._of(chunks, who) % len(self.sizes)]
        return found

    def _of(self, value: Rank, who: Integers) -> Integers:
        """The entries of `value`, a number or one per rank, for these ranks."""
        if isinstance(value, Everyone):
            value = value.array()
        value = np.asarray(value, dtype=np.int64)
        return value[who] if value.ndim else np.full(len(who), value)

    def _become_arrays(self) -> None:
        self.clock, self.tx, self.rx, self.sent = [
            self.spread(numbers) for numbers in (self.clock, self.tx, self.rx, self.sent)
        ]

    def spread(self, numbers: Numbers) -> Integers:
        """One entry per rank."""
        return numbers if isinstance(numbers, np.ndarray) else np.full(self.size, numbers, np.int64)

    def _check_peers(self, who: Integers, peers: Integers, step: Any) -> None:
        wrong = (peers < 0) | (peers >= self.size) | (peers == who)
        if wrong.any():
            first = int(np.flatnonzero(wrong)[0])
            rank, peer = int(who[first]), int(peers[first])
            what = "itself" if rank == peer else f"rank {peer}, which does not exist"
            raise ScheduleError(
                f"{self.schedule} with {self.size} ranks: rank {rank} has to deal with {what} "
                f"in a {type(step).__name__}"
            )

    def check_end(self) -> None:
        for batch in self.under_way:
            raise ScheduleError(
                f"{self.schedule} with {self.size} ranks: a message from rank {batch.source[0]} to "
                f"rank {batch.to[0]} is never received"
            )


def _max(a: Numbers, b: Numbers) -> Numbers:
    if isinstance(a, int) and isinstance(b, int):
        return a if a > b else b
    return np.maximum(a, b)


def _turned(numbers: Numbers, turn: int) -> Numbers:
    """The value of the rank `turn` places further round."""
    if isinstance(numbers, int):
        return numbers
    return np.concatenate((numbers[turn:], numbers[:turn]))
