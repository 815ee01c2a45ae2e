"""Hardships that a correct program must bear, though a calm network has none of them.

    o  order        ranks that can run at the same instant run in any order
    j  jitter       each message comes a little later than it would
    r  rendezvous   some sends wait until their receiver takes the message, at most for a millisecond; those
                    of the same sender wait behind them, so messages change their order across senders only
    w  window       little room for messages on their way, so that sends have to wait
    a  any source   a receive from anybody takes any of the messages that are there
    h  hesitation   is_completed() says no for a while
    g  gradients    parameters whose gradients are complete at once call their hooks in any order
    l  late         what isend sends is read when it lands: its tensor is the message's until then
    b  beginning    each rank begins up to some milliseconds later than it would
    k  keys         each command to the store is on its way for up to a millisecond

One more is not for every program. Ours may lean on sends that are buffered; others may not:

    s  strict       each send waits until its receive is posted (NCCL, and MPI beyond its eager limit)

None of these is a fault: networks do all of them on a good day. Which of them happen in a run, and where, follows
from its seed, each by a key of its own; so one can be left out, and the others stay.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import replace
from typing import TypeVar

from minitorch_dist.distributed.world import World
from minitorch_dist.sim import leaf_lots
from transports.faults import plans
from transports.faults.plans import chance
from transports.quantities import span
from transports.virtual.medium import Medium, SimMessage
from transports.virtual.network import Network

T = TypeVar("T")

NAMES = {
    "o": "order", "j": "jitter", "r": "rendezvous", "w": "window", "a": "any source",
    "h": "hesitation", "g": "gradients", "l": "late", "b": "beginning", "k": "keys", "s": "strict",
}  # fmt: skip
STRICT = "s"
ALL = "".join(NAMES).replace(STRICT, "")
STRICTLY = ALL + STRICT
JITTER = plans.jitter("20us")
WAITS = span("1ms")  # at most: a receiver may be waiting for something else
WINDOWS = (None, 1, 4096)  # bytes
BEGINNINGS = tuple(
    map(span, ("0us", "0us", "20us", "5ms"))
)  # at most, in a run: a long one hides what a short one finds
COMMANDS = tuple(map(span, ("0us", "5us", "100us", "1ms")))
MOST = 3  # times in a row that is_completed() says no without reason


def check(letters: str) -> None:
    """ValueError where one is no hardship."""
    unknown = sorted(set(letters) - set(NAMES))
    if unknown:
        words = ", ".join(f"{letter} ({word})" for letter, word in NAMES.items())
        raise ValueError(f"no hardship is called {', '.join(unknown)}; there are {words}")


class Hardship:
    """The hardships of one run, by their letters."""

    def __init__(self, letters: str, seed: int) -> None:
        check(letters)
        self.letters, self.seed = letters, seed
        self._drawn_for: Counter[tuple[str, int, int]] = Counter()  # chances, by what they are for, and whom
        self._begun: set[int] = set()  # ranks whose world is there
        self._in_a_row: Counter[int] = Counter()

    def order_seed(self) -> int | None:
        """The seed that shuffles the order of the ranks."""
        return self.seed if "o" in self.letters else None

    def faults(self) -> tuple[plans.Fault, ...]:
        return (JITTER,) if "j" in self.letters else ()

    def narrowed(self, network: Network) -> Network:
        if STRICT in self.letters:
            network = replace(network, rendezvous=0)
        if "w" not in self.letters:
            return network
        drawn = self._drawn("window", WINDOWS)
        return network if drawn is None else replace(network, window=drawn)

    def apply_to(self, medium: Medium) -> None:
        if "r" in self.letters:
            medium.meets, medium.meets_within = self._meets, WAITS
        medium.reads_late = "l" in self.letters
        if "k" in self.letters and (longest := self._drawn("keys", COMMANDS)):
            medium.clock.store_span = lambda rank: self._command(rank, longest)

    def begins_after(self, rank: int) -> int:
        """A rank's world is there. For how many picoseconds its function is called later."""
        self._begun.add(rank)
        if "b" not in self.letters:
            return 0
        return int(chance(self.seed, "beginning", rank, rank, 1) * self._drawn("beginning", BEGINNINGS))

    def around_the_run(self) -> AbstractContextManager[None]:
        return leaf_lots.lots_are_drawn() if "g" in self.letters else nullcontext()

    def visit(self, here: World) -> None:
        """A rank has made its world."""
        if "a" in self.letters:
            here.mailbox.pairing.choose = lambda sources: self._choose(here.rank, sources)
        if "g" in self.letters:
            leaf_lots.order_leaves(lambda: self._lot(here.rank))
        if "h" in self.letters:
            here.answers = lambda is_over: is_over() and not self._hesitates(here.rank)

    def _meets(self, message: SimMessage) -> bool:
        return self._next("rendezvous", message.src.rank, message.dst.rank) < 0.3

    def _next(self, what: str, src: int, dst: int) -> float:
        """The next chance of these."""
        self._drawn_for[what, src, dst] += 1
        return chance(self.seed, what, src, dst, self._drawn_for[what, src, dst])

    def _drawn(self, what: str, among: Sequence[T]) -> T:
        """One of these, drawn once for the run."""
        return among[int(chance(self.seed, what, 0, 0, 0) * len(among))]

    def _command(self, rank: int, longest: int) -> int:
        return int(self._next("keys", rank, rank) * longest) if rank in self._begun else 0

    def _choose(self, rank: int, sources: Sequence[int]) -> int:
        return sorted(sources)[int(self._next("any source", rank, rank) * len(sources))]

    def _lot(self, rank: int) -> int:
        return int(self._next("gradients", rank, rank) * 2**32)

    def _hesitates(self, rank: int) -> bool:
        no = self._next("hesitation", rank, rank) < 0.5
        self._in_a_row[rank] = self._in_a_row[rank] + 1 if no else 0
        return no and self._in_a_row[rank] <= MOST

    def __repr__(self) -> str:
        return f"<Hardship {self.letters or 'none'}, seed {self.seed}>"
