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
from minitorch_dist.distributed.schedules.steps import PlainStep


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
        self._steps: list[Iterator[PlainStep]] = [schedule.plain(rank, size, root) for rank in range(size)]
        self._now: list[PlainStep | None] = [next(steps, None) for steps in self._steps]
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
        assert step is not None
        if step.is_own:
            self._combine(rank, step)
            self._next(rank)
            return True
        if self.rendezvous:
            return self._meet(rank)
        if step.to is not None and not self._has_sent[rank]:
            self._send(rank, step.to, step.sent)
            self._has_sent[rank] = True
            if step.source is not None:
                return True  # that was something, also where nothing has come yet
        if step.source is not None:
            waiting = self._under_way.get((self._peer(rank, step.source), rank))
            if not waiting:
                return False
            self._receive(rank, step, waiting.popleft())
        self._next(rank)
        return True

    def _next(self, rank: int) -> None:
        self._now[rank] = next(self._steps[rank], None)
        self._has_sent[rank], self._half_done[rank] = False, None

    def _send(self, rank: int, to: int, chunks: list[int]) -> None:
        self._peer(rank, to)
        nbytes = sum(int(self.sizes[chunk % len(self.sizes)]) for chunk in chunks)
        start = max(self.finish[rank], self.tx[rank])
        self.tx[rank] = start + self.links.occupancy(rank, to, nbytes)
        self.sent[rank] += nbytes
        load = self.contents.take(rank, chunks) if self.contents else None
        self._under_way.setdefault((rank, to), deque()).append(_Message(chunks, nbytes, start, load))

    def _receive(self, rank: int, step: PlainStep, m: _Message) -> None:
        source, chunks = step.source, step.taken
        assert source is not None
        self._check_match(rank, source, chunks, m.chunks)
        reached = max(m.start + self.links.delay(source, rank), self.rx[rank])
        landed = self.rx[rank] = reached + self.links.occupancy(source, rank, m.nbytes)
        self.finish[rank] = max(self.finish[rank], landed)
        self.messages += 1
        if step.reduce:
            self.finish[rank] += self.links.gamma * m.nbytes
        if self.contents:
            self.contents.put(rank, chunks, m.load, source, step.reduce)

    def _combine(self, rank: int, step: PlainStep) -> None:
        (of,), (into,) = step.sent, step.taken
        if step.reduce:
            self.finish[rank] += self.links.gamma * int(self.sizes[of % len(self.sizes)])
        if self.contents:
            self.contents.combine(rank, into, of, step.reduce)

    def _meet(self, to: int) -> bool:
        """Rendezvous: if `to` and the one it receives from are both there, the message passes."""
        into = self._now[to]
        if into is None or into.source is None:
            return False
        if self._half_done[to] is not None and not self._has_sent[to]:
            return False  # has received already, and waits to be rid of its own message
        source = self._peer(to, into.source)
        out = self._now[source]
        if out is None or out.to != to or self._has_sent[source]:
            return False
        ready = max(self.finish[source], self.finish[to], self.rx[to])
        self.tx[source] = max(self.tx[source], ready)
        clock, before = self.finish[source], self.finish[to]
        self.finish[source] = max(clock, ready)
        self._send(source, to, out.sent)
        self.finish[source] = clock
        self._receive(to, into, self._under_way[source, to].popleft())
        received, self.finish[to] = self.finish[to], before
        self._has_sent[source] = True
        self._half(source, self.tx[source], out.source is not None)
        self._half(to, received, into.to is not None)
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

    def _peer(self, rank: int, peer: int) -> int:
        if not 0 <= peer < self.size or peer == rank:
            what = "itself" if peer == rank else f"rank {peer}, which does not exist"
            raise ScheduleError(
                f"{self.schedule} with {self.size} ranks: rank {rank} has to deal with {what} ({self._now[rank]})"
            )
        return peer

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
            lines = [f"rank {rank} waits in {self._now[rank]}" for rank in stuck]
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
            assert step is not None
            still_sends = step.to is not None and self.rendezvous and not self._has_sent[rank]
            peer = step.to if still_sends else step.source
            if peer is not None:
                waits[rank] = peer
        for rank in stuck:
            path = [rank]
            while path[-1] in waits and waits[path[-1]] not in path:
                path.append(waits[path[-1]])
            if waits.get(path[-1]) == rank:
                return "; a circle: " + " → ".join(map(str, [*path, rank]))
        return ""
