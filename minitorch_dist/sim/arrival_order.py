"""The order of arrivals of a run, where the program does not fix it: it explains a wrong value.

A receive from anybody takes the message that is there first, and `is_completed()` says what is true at
that moment. Both depend on times. So a failing run tells what each of them got, in the order in which
it happened. (`exhaust` decides these itself, and tells what it has decided: see `choices`.)
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence

from minitorch_dist.distributed.callsite import callsite
from minitorch_dist.distributed.mail.receives import PostedReceive
from minitorch_dist.distributed.world import World
from transports.quantities import in_words
from transports.virtual.clock import VirtualClock
from transports.virtual.deadlock import listed

SHOWN = 30  # of the latest


class ArrivalOrder:
    """Of one run."""

    def __init__(self, clock: VirtualClock) -> None:
        self._clock = clock
        self._latest: deque[str] = deque(maxlen=SHOWN)
        self._count = 0

    def enter(self, here: World) -> None:
        """Look on in a rank's new world."""
        own = ArrivalsOfRank(self, here.rank, here.answers or bool_of)
        here.mailbox.pairing.noted, here.answers = own.taken, own.answered

    def note(self, words: str) -> None:
        self._count += 1
        self._latest.append(f"  {self._count}. at {in_words(self._clock.now())} {words}")

    def __str__(self) -> str:
        """In words, one line each; empty if nothing was left to times."""
        if not self._count:
            return ""
        before = self._count - len(self._latest)
        rest = [f"  … {before} before these"] if before else []
        return "\n".join(["what came first, where the program leaves it to times", *rest, *self._latest])

    def __repr__(self) -> str:
        return f"<ArrivalOrder, {self._count} so far>"


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
        self.order.note(
            f"rank {self.rank} received from rank {source}{where}, where it takes from anybody{rest}"
        )

    def answered(self, is_over: Callable[[], bool]) -> bool:
        found = self.answer(is_over)
        said = "yes" if found else "no" if not is_over() else "no, though it was over (a hardship)"
        self.order.note(f"rank {self.rank} asked is_completed() at {callsite()}, and heard {said}")
        return found


def bool_of(is_over: Callable[[], bool]) -> bool:
    return is_over()
