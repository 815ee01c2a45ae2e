"""Play a schedule message by message, all ranks in one thread: the naive form of everything else.

Each rank runs its own steps until it has to wait for a message. With ranks and times as plain
integers this is easy to follow, and slow; `cost` computes the same times for all ranks at once, and
a test says that they agree.

`Contents` decides what the messages carry: nothing (times and bytes only), labels (`proof`), or
arrays (to run a collective without a transport). Sends are *eager*: they never wait. With
`rendezvous` they wait until the receiver is there; then a schedule in which everybody sends first
stands still, and the error says who waits for whom.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from typing import Any, NamedTuple, Protocol

from minitorch_dist.distributed.schedules.links import Links
from minitorch_dist.distributed.schedules.schedule import Schedule, ScheduleError, Sizes
from minitorch_dist.distributed.schedules.steps import (
    Chunks,
    Combine,
    Exchange,
    Receive,
    Send,
    Step,
    in_words,
    numbered,
)


class Contents(Protocol):
    """The contents of the chunks of all ranks."""

    def take(self, rank: int, chunks: list[int]) -> Any:
        """A copy of these chunks, as it goes into a message."""

    def put(self, rank: int, chunks: list[int], message: Any, source: int, reduce: bool) -> None: ...

    def combine(self, rank: int, into: int, of: int, reduce: bool) -> None: ...


class _Message(NamedTuple):
    chunks: list[int]
    nbytes: int
    start: int
    load: Any


class Replay:
    """All ranks of one schedule. `run` plays it; afterwards the fields tell what happened."""

    def __init__(
        self,
        schedule: Schedule,
        size: int,
        nbytes: int = 0,
        *,
        root: int | None = None,
        itemsize: int = 1,
        links: Links | None = None,
        contents: Contents | None = None,
        rendezvous: bool = False,
    ) -> None:
        self.schedule, self.size, self.contents = schedule, size, contents
        self.total = schedule.total(size)
        self.sizes: Sizes = schedule.sizes(size, nbytes // itemsize) * itemsize
        self.links = links or Links()
        self.rendezvous = rendezvous
        self.messages = 0  # that were received
        self.finish = [0] * size  # each rank's own time
        self.sent = [0] * size  # bytes
        self.tx, self.rx = [0] * size, [0] * size  # when each port is free again
        self._steps: list[Iterator[Step]] = [iter(schedule.of(rank, size, root)) for rank in range(size)]
        self._now: list[Step | None] = [next(steps, None) for steps in self._steps]
        self._under_way: dict[tuple[int, int], deque[_Message]] = {}
        self._has_sent = [False] * size  # in an Exchange that still waits for its message
        self._half_done: list[int | None] = [None] * size  # rendezvous: one half, done at …

    @property
    def time(self) -> int:
        return max(self.finish)

    def run(self) -> Replay:
        """Play to the end, or raise ScheduleError in words."""
        moved = True
        while moved:
            moved = False
            for rank in range(self.size):
                while self._now[rank] is not None and self._advance(rank):
                    moved = True
        self._check_end()
        return self

    # -- one step -----------------------------------------------------------------------------

    def _advance(self, rank: int) -> bool:
        """Carry out what this rank can do of its present step; whether anything was."""
        step = self._now[rank]
        if isinstance(step, Combine):
            self._combine(rank, step)
            self._next(rank)
            return True
        if self.rendezvous:
            return self._meet(rank)
        if isinstance(step, Send | Exchange) and not self._has_sent[rank]:
            self._send(rank, *_outgoing(step))
            self._has_sent[rank] = True
            if isinstance(step, Exchange):
                return True  # that was something, also where nothing has come yet
        if isinstance(step, Receive | Exchange):
            source, chunks = _incoming(step)
            waiting = self._under_way.get((self._peer(rank, source), rank))
            if not waiting:
                return False
            self._receive(rank, source, chunks, step.reduce, waiting.popleft())
        self._next(rank)
        return True

    def _next(self, rank: int) -> None:
        self._now[rank] = next(self._steps[rank], None)
        self._has_sent[rank], self._half_done[rank] = False, None

    def _send(self, rank: int, to: int, chunks: Chunks) -> None:
        to, numbers = self._peer(rank, to), numbered(chunks, self.total)
        nbytes = sum(int(self.sizes[number % len(self.sizes)]) for number in numbers)
        start = max(self.finish[rank], self.tx[rank])
        self.tx[rank] = start + self.links.occupancy(rank, to, nbytes)
        self.sent[rank] += nbytes
        load = self.contents.take(rank, numbers) if self.contents else None
        message = _Message(numbers, nbytes, start, load)
        self._under_way.setdefault((rank, to), deque()).append(message)

    def _receive(self, rank: int, source: int, chunks: Chunks, reduce: bool, m: _Message) -> None:
        source, numbers = int(source), numbered(chunks, self.total)
        self._check_match(rank, source, numbers, m.chunks)
        reached = max(m.start + self.links.delay(source, rank), self.rx[rank])
        landed = self.rx[rank] = reached + self.links.occupancy(source, rank, m.nbytes)
        self.finish[rank] = max(self.finish[rank], landed)
        self.messages += 1
        if reduce:
            self.finish[rank] += self.links.gamma * m.nbytes
        if self.contents:
            self.contents.put(rank, numbers, m.load, source, reduce)

    def _combine(self, rank: int, step: Combine) -> None:
        if step.reduce:
            nbytes = int(self.sizes[int(step.of) % len(self.sizes)])
            self.finish[rank] += self.links.gamma * nbytes
        if self.contents:
            self.contents.combine(rank, int(step.into), int(step.of), step.reduce)

    def _meet(self, to: int) -> bool:
        """Rendezvous: if `to` and the one it receives from are both there, the message passes."""
        into = self._now[to]
        if not isinstance(into, Receive | Exchange):
            return False
        if self._half_done[to] is not None and not self._has_sent[to]:
            return False  # has received already, and waits to be rid of its own message
        source, chunks = _incoming(into)
        source = self._peer(to, source)
        out = self._now[source]
        if not isinstance(out, Send | Exchange) or self._has_sent[source]:
            return False
        if _outgoing(out)[0] != to:
            return False
        ready = max(self.finish[source], self.finish[to], self.rx[to])
        self.tx[source] = max(self.tx[source], ready)
        clock, before = self.finish[source], self.finish[to]
        self.finish[source] = max(clock, ready)
        self._send(source, *_outgoing(out))
        self.finish[source] = clock
        self._receive(to, source, chunks, into.reduce, self._under_way[source, to].popleft())
        received, self.finish[to] = self.finish[to], before
        self._has_sent[source] = True
        self._half(source, self.tx[source], isinstance(out, Exchange))
        self._half(to, received, isinstance(into, Exchange))
        return True

    def _half(self, rank: int, done: int, of_two: bool) -> None:
        """One half of a step is done at `done`; with the other half the rank goes on."""
        other = self._half_done[rank]
        if of_two and other is None:
            self._half_done[rank] = done
            return
        self.finish[rank] = max(self.finish[rank], done, other or 0)
        self._next(rank)

    # -- what can be wrong --------------------------------------------------------------------

    def _peer(self, rank: int, peer: Any) -> int:
        number = int(peer)
        if not 0 <= number < self.size or number == rank:
            step = self._now[rank]
            what = "itself" if number == rank else f"rank {number}, which does not exist"
            raise ScheduleError(
                f"{self.schedule} with {self.size} ranks: rank {rank} has to deal with {what} "
                f"({in_words(step) if step else ''})"
            )
        return number

    def _check_match(self, rank: int, source: int, wanted: list[int], sent: list[int]) -> None:
        modulo = max(self.total, 1)
        if [w % modulo for w in wanted] != [s % modulo for s in sent]:
            raise ScheduleError(
                f"{self.schedule} with {self.size} ranks: rank {rank} takes chunks {wanted} from "
                f"rank {source}, which sent {sent}"
            )

    def _check_end(self) -> None:
        stuck = [rank for rank in range(self.size) if self._now[rank] is not None]
        if stuck:
            lines = []
            for rank in stuck:
                step = self._now[rank]
                assert step is not None
                lines.append(f"rank {rank} waits in {in_words(step)}")
            mode = "when sends wait for their receivers" if self.rendezvous else "for ever"
            raise ScheduleError(
                f"{self.schedule} with {self.size} ranks stands still {mode}: " + "; ".join(lines) + self._circle(stuck)
            )
        for (source, to), left in self._under_way.items():
            if left:
                raise ScheduleError(
                    f"{self.schedule} with {self.size} ranks: {len(left)} messages from rank "
                    f"{source} to rank {to} are never received (the first: chunks {left[0].chunks})"
                )

    def _circle(self, stuck: list[int]) -> str:
        """The circle of ranks that wait for each other, if there is one."""
        waits: dict[int, int] = {}
        for rank in stuck:
            step = self._now[rank]
            if isinstance(step, Send | Exchange) and self.rendezvous and not self._has_sent[rank]:
                waits[rank] = int(step.to)
            elif isinstance(step, Receive | Exchange):
                waits[rank] = int(step.source)
        for rank in stuck:
            path = [rank]
            while path[-1] in waits and waits[path[-1]] not in path:
                path.append(waits[path[-1]])
            if waits.get(path[-1]) == rank:
                return "; a circle: " + " → ".join(map(str, [*path, rank]))
        return ""


def _outgoing(step: Send | Exchange) -> tuple[int, Chunks]:
    return int(step.to), step.send if isinstance(step, Exchange) else step.chunks


def _incoming(step: Receive | Exchange) -> tuple[int, Chunks]:
    return int(step.source), step.receive if isinstance(step, Exchange) else step.chunks
