"""The order of arrivals of a run, where the program does not fix it: it explains a wrong value, and a hang.

A receive from anybody takes the message that is there first, `is_completed()` says what is true at that moment, and so
does a store. All three depend on times. So a failing run tells what each of them got, in the order in which
it happened. (`exhaust` decides these itself, and tells what it has decided: see `choices`.) `difference` compares
it with a run that passes.
"""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Callable, Sequence
from typing import NamedTuple

from minitorch_dist.distributed.callsite import callsite
from minitorch_dist.distributed.mail.receives import PostedReceive
from minitorch_dist.distributed.world import World
from transports.quantities import in_words
from transports.virtual.clock import VirtualClock
from transports.virtual.deadlock import is_users, listed

SHOWN = 30  # of the latest
GAP = "…"
KEPT = 10_000  # of the first, to be compared
QUESTIONS = frozenset(
    ("add", "check", "compare_set", "delete_key", "get", "num_keys", "queue_len", "queue_pop", "queue_pop_now")
)
"""The commands of a store whose answers depend on what others have done by then."""


class ArrivalNote(NamedTuple):
    """One of them: whose, what was asked for (with a gap for what came), what came, and what else could have."""

    rank: int
    asked: str
    got: str
    rest: str = ""

    def __str__(self) -> str:
        return f"rank {self.rank} {self.asked.replace(GAP, self.got)}{self.rest}"


class ArrivalOrder:
    """Of one run."""

    def __init__(self, clock: VirtualClock) -> None:
        self._clock = clock
        self.first: list[ArrivalNote] = []
        self._latest: list[str] = []
        self._count = 0
        clock.store_answered = self._answered

    def enter(self, here: World) -> None:
        """Look on in a rank's new world."""
        own = ArrivalsOfRank(self, here.rank, here.answers or bool_of)
        here.mailbox.pairing.noted, here.answers = own.taken, own.answered

    def note(self, arrival: ArrivalNote) -> None:
        self._count += 1
        self._latest = [*self._latest[1 - SHOWN :], f"  {self._count}. at {in_words(self._clock.now())} {arrival}"]
        if self._count <= KEPT:
            self.first.append(arrival)

    def _answered(self, rank: int, operation: str, keys: Sequence[str], answer: Sequence[bytes]) -> None:
        """A store has answered a rank: of interest where its program asked."""
        if operation in QUESTIONS and _is_programs():
            what = " ".join([operation, *map(repr, keys[:3])])
            if operation == "check":
                said = "yes" if answer == [b"1"] else "no"
            else:
                said = ", ".join(repr(each[:40])[1:] for each in answer[:3]) or "nothing"
            self.note(ArrivalNote(rank, f"asked a store at {callsite()} to {what}, and heard {GAP}", said))

    def __str__(self) -> str:
        """In words, one line each; empty if nothing was left to times."""
        if not self._count:
            return ""
        before = self._count - len(self._latest)
        rest = [f"  … {before} before these"] if before else []
        return "\n".join(["what came first, where the program leaves it to times", *rest, *self._latest])

    def __repr__(self) -> str:
        return f"<ArrivalOrder, {self._count} so far>"


def _is_programs() -> bool:
    """Whether the program itself has called the store, and not the library for it."""
    frame = sys._getframe(2)
    while frame.f_back is not None and str(frame.f_globals.get("__name__")).startswith("transports."):
        frame = frame.f_back
    return is_users(frame)


class ArrivalsOfRank:
    """The part of one rank. `answer` is what `is_completed()` asked before."""

    __slots__ = ("answer", "order", "rank")

    def __init__(self, order: ArrivalOrder, rank: int, answer: Callable[[Callable[[], bool]], bool]) -> None:
        self.order, self.rank, self.answer = order, rank, answer

    def taken(self, source: int, receive: PostedReceive | None, there: Sequence[int]) -> None:
        """A receive from anybody took what came from `source`; messages of `there` were there."""
        site = getattr(receive.owner, "site", "") if receive is not None else callsite()
        others = sorted(set(there) - {source})
        rest = f"; {listed(others)} had sent one, too" if others else ""
        where = f" at {site}" if site else ""
        asked = f"received from {GAP}{where}, where it takes from anybody"
        self.order.note(ArrivalNote(self.rank, asked, f"rank {source}", rest))

    def answered(self, is_over: Callable[[], bool]) -> bool:
        found = self.answer(is_over)
        said = "yes" if found else "no" if not is_over() else "no, though it was over (a hardship)"
        self.order.note(ArrivalNote(self.rank, f"asked is_completed() at {callsite()}, and heard {GAP}", said))
        return found


def bool_of(is_over: Callable[[], bool]) -> bool:
    return is_over()


def difference(failing: Sequence[ArrivalNote], passing: Sequence[ArrivalNote]) -> str:
    """The first arrival that was another one than in a run that passes; "" if there is none. Questions that a rank
    repeats until it hears yes are no difference as long as others are found."""
    found = [*_differences(failing, passing)]
    found.sort(key=lambda each: "is_completed" in each[0].asked)
    if not found:
        return ""
    here, there = found[0]
    return f"{here}\nin a run that passes: {there.got if there.asked == here.asked else there}"


def _differences(
    failing: Sequence[ArrivalNote], passing: Sequence[ArrivalNote]
) -> list[tuple[ArrivalNote, ArrivalNote]]:
    """Of each rank the first, in the order of the run that fails."""
    theirs: dict[int, list[ArrivalNote]] = {}
    for arrival in passing:
        theirs.setdefault(arrival.rank, []).append(arrival)
    found: dict[int, tuple[ArrivalNote, ArrivalNote]] = {}
    number: Counter[int] = Counter()
    for arrival in failing:
        rank, own = arrival.rank, theirs.get(arrival.rank, [])
        if rank not in found and number[rank] < len(own) and own[number[rank]][:3] != arrival[:3]:
            found[rank] = arrival, own[number[rank]]
        number[rank] += 1
    return [*found.values()]
