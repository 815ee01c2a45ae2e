"""A plan of faults, carried out on the messages of a simulated network and on its ranks.

    depart ─► clogged? wait ─► struck? ─► ports and wire ─► clogged? wait ─► late? wait ─► in order? ─► deliver
                                 └─ lost: sent again after 1, 2, 4 … ms ─┘

The ranks use a reliable transport, as TCP is, and faults hit the packets below it:

    drop, partition   a lost packet is sent again, at first after `retransmit`, then after twice that,
                      and so on; those behind it wait, since messages keep their order. When one
                      could not be delivered for `give_up`, the connection is over: both sides lose
                      each other (PeerLost)
    duplicate         holds the ports twice; the second one is thrown away
    delay, reorder    the message is late, and those behind it wait
    cut               the connection breaks at once

With `reliable=False` there is nothing in between: a dropped message is gone, a duplicate comes twice, and a
reordered message is overtaken. Collectives are not made for that (a lost message ends in a deadlock, which
says so). Protocols that retry by themselves, with at-most-once and the like, are tested so.

Whether a message is struck depends on (seed, kind, src, dst, its number among those from src to dst,
attempt) and nothing else. Removing one fault leaves the others as they were.

A crash stops a rank where it stands. Nothing it does afterwards reaches another rank. Its sends that have
not landed are void, and the others lose it after the network's `detection`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial

from transports.faults.plans import Clog, Crash, Fault, Partition, Slow, Strike, chance
from transports.quantities import in_words, span
from transports.virtual.medium import Endpoint, Medium, SimMessage

RETRANSMIT, GIVE_UP = span("1ms"), span("15s")
REMEMBERED = 10_000  # strikes


@dataclass(frozen=True)
class Plan:
    """Faults, and what kind of transport they meet."""

    faults: tuple[Fault, ...] = ()
    reliable: bool = True
    retransmit: int = RETRANSMIT  # picoseconds
    give_up: int = GIVE_UP
    unsaid: tuple[Fault, ...] = ()  # not worth mentioning


@dataclass(frozen=True)
class Hit:
    """A message that was struck."""

    fault: Strike
    src: int
    dst: int
    number: int
    at: int
    late: int = 0

    def alone(self) -> Strike:
        """A fault that does just this."""
        strike = self.fault.on(self.src, self.dst, self.number)
        return replace(strike, kind="delay", span=self.late) if strike.kind == "jitter" else strike

    def __str__(self) -> str:
        by = f" by {in_words(self.late)}" if self.late else ""
        message = f"message {self.number} from rank {self.src} to rank {self.dst}"
        return f"{self.fault.kind}{by}: {message}, at {in_words(self.at)}"


@dataclass(slots=True)
class Ticket:
    """A message's own fate. `number` counts all messages of its rank to that rank: chances depend on it.
    `place` counts what one end sent to the other, which is what keeps its order."""

    number: int
    place: int
    since: int
    attempt: int = 0
    late: int = 0
    is_lost: bool = False
    is_copy: bool = False
    is_overtaken: bool = False
    nth: int | None = None  # among the messages that match alike, where somebody says what does


class FaultInjector:
    """Carries out a plan on one medium."""

    def __init__(self, medium: Medium, plan: Plan, seed: int) -> None:
        self.medium, self.clock, self.plan, self.seed = medium, medium.clock, plan, seed
        self.hits: list[Hit] = []
        self.crashed: dict[int, Crash] = {}  # the last crash of each
        self.down: set[int] = set()  # ranks that were killed, and have not begun again
        self.gone: Counter[str] = Counter()  # what was lost for good, or is held for ever, in words
        self._strikes = [f for f in plan.faults if isinstance(f, Strike)]
        self._partitions = [f for f in plan.faults if isinstance(f, Partition)]
        self._clogs = [f for f in plan.faults if isinstance(f, Clog)]
        self._slows = [f for f in plan.faults if isinstance(f, Slow)]
        self._numbers: Counter[tuple[int, int]] = Counter()
        self.match: Callable[[bytes], bytes] | None = None
        """The part of a header that says which receive takes it. It is needed where the order in which
        messages come does not tell which they are; then each message has a number among those that look
        alike.
        """
        self.over: Callable[[SimMessage], None] | None = None
        """Told of each message that comes to its end: it is received, or void."""
        self._alike: Counter[tuple[int, int, bytes]] = Counter()
        self._places: Counter[tuple[Endpoint, Endpoint]] = Counter()
        self._early: dict[tuple[Endpoint, Endpoint], dict[int, SimMessage]] = {}
        self._next: Counter[tuple[Endpoint, Endpoint]] = Counter()
        self._floor: dict[tuple[Endpoint, Endpoint], int] = {}
        self._dead: set[Endpoint] = set()
        medium.injector = self
        for fault in plan.faults:
            if isinstance(fault, Crash):
                self.clock.at(fault.at, partial(self._crash, fault))

    # ------------------------------------------------------------------------------ for the medium

    @property
    def is_unreliable(self) -> bool:
        return not self.plan.reliable

    def depart(self, message: SimMessage) -> None:
        pair = message.src.rank, message.dst.rank
        number = self._numbers[pair]
        self._numbers[pair] = number + 1
        way = message.src, message.dst
        message.ticket = Ticket(number, self._places[way], self.clock.now())
        self._places[way] += 1
        if self.match is not None and not self.plan.reliable:
            alike = *pair, self.match(message.header)
            message.ticket.nth = self._alike[alike]
            self._alike[alike] += 1
        self._set_out(message)

    def land(self, message: SimMessage) -> None:
        """The last byte is there."""
        ticket: Ticket = message.ticket
        way, now = (message.src, message.dst), self.clock.now()
        if message.src in self._dead:
            message.is_void, ticket.is_lost = True, False
        if ticket.is_lost:
            return self._lost(message)
        if self._is_held(message, self.land, "out"):
            return None
        due = now + ticket.late
        if not (self.plan.reliable or ticket.is_overtaken):
            due = self._floor[way] = max(due, self._floor.get(way, 0))
        if due > now:
            ticket.late = 0
            return self.clock.at(due, partial(self._arrive, message))
        return self._arrive(message)

    def hold(self, src: int, dst: int, picos: int) -> int:
        """For how long a message holds its ports."""
        return self._stretched("network", (src, dst), picos)

    def compute(self, rank: int, picos: int) -> int:
        """How long a computation takes on a rank."""
        return self._stretched("compute", (rank,), picos)

    def _stretched(self, what: str, ranks: Sequence[int], picos: int) -> int:
        for fault in self._slows:
            if fault.what == what and fault.rank in ranks:
                picos = fault.stretch(picos, self.clock.now())
        return picos

    # ---------------------------------------------------------------------------------- its stages

    def _set_out(self, message: SimMessage) -> None:
        if message.src in self._dead:
            message.is_void = True
            return self._arrive(message)
        if not self._is_held(message, self._set_out, "in"):
            copies = self._strike(message)
            self.medium.transmit(message)
            for copy in copies:
                self.medium.transmit(copy)
        return None

    def _is_held(self, message: SimMessage, again: Callable[[SimMessage], None], other: str) -> bool:
        """Whether a clog is in the way, which calls `again` when it ends. At the departure ways
        "out" count and at the landing ways "in", so one of them is the `other`."""
        src, dst, now = message.src.rank, message.dst.rank, self.clock.now()
        here = dst if other == "out" else src
        for clog in self._clogs:
            if clog.way == other or clog.rank != here or not clog.stops(src, dst, now):
                continue
            if clog.until is None:
                self._note(f"a message from rank {src} to rank {dst} is held for ever by {clog}")
            else:
                self.clock.at(clog.until, partial(again, message))
            return True
        return False

    def _strike(self, message: SimMessage) -> list[SimMessage]:
        """Let the faults that fit hit this attempt; the copies that were made of it."""
        copies: list[SimMessage] = []
        ticket: Ticket = message.ticket
        src, dst, now = message.src.rank, message.dst.rank, self.clock.now()
        number, attempt = ticket.number, ticket.attempt
        ticket.is_lost = any(parted.parts(src, dst, now) for parted in self._partitions)
        for fault in self._strikes:
            if not fault.fits(src, dst, number, now):
                continue
            if attempt and (fault.kind != "drop" or fault.number is not None):
                continue
            if fault.p < 1.0 and chance(self.seed, fault.kind, src, dst, number, attempt) >= fault.p:
                continue
            if fault.kind == "duplicate":
                copies.append(self._copy(message))
            self._apply(fault, message, ticket)
        if ticket.is_lost and not self.plan.reliable:
            self._note(f"message {number} from rank {src} to rank {dst} was lost at {in_words(now)}")
        return copies

    def _apply(self, fault: Strike, message: SimMessage, ticket: Ticket) -> None:
        late, (src, dst) = fault.span, (message.src.rank, message.dst.rank)
        if fault.kind == "drop":
            ticket.is_lost = True
        elif fault.kind == "cut":
            self._sever(message, f"its connection to rank {{}} was cut by {fault}")
        elif fault.kind != "duplicate":
            if fault.kind == "jitter":
                late = int(late * chance(self.seed, "jitter span", src, dst, ticket.number))
            ticket.late += late
            ticket.is_overtaken |= fault.kind == "reorder"
        if len(self.hits) < REMEMBERED and fault not in self.plan.unsaid:
            self.hits.append(Hit(fault, src, dst, ticket.number, self.clock.now(), late))

    def _copy(self, message: SimMessage) -> SimMessage:
        copy = SimMessage(message.medium, message.src, message.dst, message.header, message.payload)
        of: Ticket = message.ticket
        copy.ticket = Ticket(of.number, of.place, self.clock.now(), is_copy=True, nth=of.nth)
        return copy

    def _lost(self, message: SimMessage) -> None:
        """It did not arrive; a reliable transport tries again, up to a point."""
        ticket: Ticket = message.ticket
        if ticket.is_copy:
            return None
        if not self.plan.reliable:
            message.is_void = True
            return self._arrive(message)
        waited = self.clock.now() - ticket.since
        if waited >= self.plan.give_up:
            self._sever(message, f"nothing got through to rank {{}} for {in_words(waited)}")
            return self._arrive(message)
        pause = self.plan.retransmit << min(ticket.attempt, 40)
        ticket.attempt += 1
        self.clock.at(self.clock.now() + pause, partial(self._set_out, message))
        return None

    def _arrive(self, message: SimMessage) -> None:
        """Deliver it; on a reliable transport when those before it were."""
        if self.over is not None:
            self.over(message)
        ticket: Ticket = message.ticket
        if ticket.is_copy:
            if not self.plan.reliable:
                message.dst.take(message)
            return
        if not self.plan.reliable:
            return self.medium.deliver(message)
        way = message.src, message.dst
        early = self._early.setdefault(way, {})
        early[ticket.place] = message
        while (ready := early.pop(self._next[way], None)) is not None:
            self._next[way] += 1
            self.medium.deliver(ready)

    def _sever(self, message: SimMessage, why: str) -> None:
        """The two ends lose each other."""
        for one, other in ((message.src, message.dst), (message.dst, message.src)):
            one.lose(other.rank, why.format(one.rank))

    def _crash(self, fault: Crash) -> None:
        rank = fault.rank
        if rank in self.down or rank not in self.medium.ends or not self.clock.stop_rank(rank):
            return  # there is no process: it awaits its restart, has not come yet, or is over
        ends = list(self.medium.ends[rank])
        self.crashed[rank] = fault
        self.down.add(rank)
        self._dead.update(ends)
        for end in ends:
            end.kill(f"its process was killed at {in_words(fault.at)}")

    def _note(self, words: str) -> None:
        if len(self.gone) < REMEMBERED:
            self.gone[words] += 1

    def story(self, most: int = 12) -> list[str]:
        """The faults that have happened, in words: crashes, lost messages, struck messages."""
        now = self.clock.now()
        lines = [f"rank {c.rank} was killed at {in_words(c.at)}" for c in self.crashed.values()]
        lines += [f"{p} is in force" for p in self._partitions if p.at <= now < (p.heal or now + 1)]
        gone = [words if n == 1 else f"{words} ({n} times)" for words, n in self.gone.items()]
        return [*lines, *_some(gone, most), *_some([str(hit) for hit in self.hits], most)]


def _some(lines: Sequence[str], most: int) -> list[str]:
    if len(lines) <= most:
        return list(lines)
    return [*lines[: most - 1], f"… and {len(lines) - most + 1} more like these"]
