"""What can befall a message: rules that give verdicts, and verbs in pairs.

    faults = Faults(seed=7)
    faults.install(drop(0.01, dst=2))                 # a rule; a plain function is one too
    with faults.install(lambda m: DROP if m.nbytes > 1000 else None):
        …                                             # it leaves with the block
    faults.partition({0, 1}, {2}); …; faults.heal()   # what is sent across is gone
    faults.hold(0, 1);             …; faults.release()  # what is sent waits

Rules are asked in the order they were installed; the first that has a verdict decides. Chance is
keyed and not drawn in turn: what befalls the n-th message from a to b depends on the seed, the
rule's kind, a, b and n alone. So it is the same in every run and process, and taking one rule away
leaves the others' verdicts as they were.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass
from hashlib import blake2b
from itertools import count
from typing import NamedTuple, TypeAlias


class Message(NamedTuple):
    """What a rule sees."""

    src: int
    dst: int
    number: int  # among the messages from src to dst
    header: bytes
    nbytes: int


@dataclass(frozen=True)
class Verdict:
    """`copies` of the message, `seconds` later; in order (those behind it wait) or not; or cut."""

    copies: int = 1
    seconds: float = 0.0
    in_order: bool = True
    is_held: bool = False
    is_cut: bool = False


PASS = Verdict()
DROP = Verdict(copies=0)
DUPLICATE = Verdict(copies=2)
HOLD = Verdict(is_held=True)
CUT = Verdict(copies=0, is_cut=True)  # the connection breaks: both sides lose each other


def late(seconds: float) -> Verdict:
    """A slow link: this message comes later, and those behind it with it."""
    return Verdict(seconds=seconds)


def overtaken(seconds: float) -> Verdict:
    """This message comes later, and those behind it overtake it."""
    return Verdict(seconds=seconds, in_order=False)


Rule: TypeAlias = Callable[[Message], Verdict | None]


class Faults:
    """The rules of one network. Ranks that are threads share one; processes make equal ones."""

    def __init__(self, seed: int = 0) -> None:
        self.seed = seed
        self._rules: dict[int, Rule] = {}
        self._numbers = count()
        self._partitions: list[tuple[frozenset[int], frozenset[int]]] = []
        self._holds: list[tuple[int | None, int | None]] = []
        self._listeners: list[Callable[[], None]] = []

    def chance(self, kind: str, message: Message) -> float:
        """A number in [0, 1) that belongs to this kind of fault and this message."""
        key = f"{self.seed} {kind} {message.src} {message.dst} {message.number}".encode()
        return int.from_bytes(blake2b(key, digest_size=6).digest(), "big") / 2**48

    def install(self, rule: Rule | Chance) -> Guard:
        """Add a rule behind the others; the guard removes it, at the end of a `with` or by `remove`."""
        if isinstance(rule, Chance):
            rule = rule.bound(self)
        number = next(self._numbers)
        self._rules[number] = rule
        return Guard(self, number)

    def remove(self, number: int) -> None:
        self._rules.pop(number, None)

    def judge(self, message: Message) -> Verdict:
        for one, other in self._partitions:
            if (message.src in one and message.dst in other) or (
                message.src in other and message.dst in one
            ):
                return DROP
        if self.is_held(message.src, message.dst):
            return HOLD
        for rule in list(self._rules.values()):
            verdict = rule(message)
            if verdict is not None:
                return verdict
        return PASS

    def partition(self, one: Collection[int], other: Collection[int]) -> None:
        """Messages between the two sides are dropped, until `heal`."""
        self._partitions.append((frozenset(one), frozenset(other)))

    def heal(self) -> None:
        self._partitions.clear()

    def hold(self, src: int | None = None, dst: int | None = None) -> None:
        """Messages on this way (None: any rank) wait, until `release`."""
        self._holds.append((src, dst))

    def release(self) -> None:
        """What was held comes, in its order."""
        self._holds.clear()
        for listener in list(self._listeners):
            listener()

    def is_held(self, src: int, dst: int) -> bool:
        return any(a in (None, src) and b in (None, dst) for a, b in self._holds)

    def listen(self, listener: Callable[[], None]) -> None:
        """Call `listener` after each `release`."""
        self._listeners.append(listener)

    def forget(self, listener: Callable[[], None]) -> None:
        if listener in self._listeners:
            self._listeners.remove(listener)

    def __repr__(self) -> str:
        return (
            f"<Faults seed {self.seed}, {len(self._rules)} rules, "
            f"{len(self._partitions)} partitions, {len(self._holds)} holds>"
        )


class Guard:
    """Takes its rule out again."""

    def __init__(self, faults: Faults, number: int) -> None:
        self._faults, self._number = faults, number

    def remove(self) -> None:
        self._faults.remove(self._number)

    def __enter__(self) -> Guard:
        return self

    def __exit__(self, *error: object) -> None:
        self.remove()


@dataclass(frozen=True)
class Chance:
    """A rule that strikes with probability `p` on one way (None: any rank)."""

    kind: str
    verdict: Verdict
    p: float
    src: int | None
    dst: int | None

    def bound(self, faults: Faults) -> Rule:
        def rule(message: Message) -> Verdict | None:
            concerned = self.src in (None, message.src) and self.dst in (None, message.dst)
            strikes = concerned and faults.chance(self.kind, message) < self.p
            return self.verdict if strikes else None

        return rule


def drop(p: float = 1.0, src: int | None = None, dst: int | None = None) -> Chance:
    return Chance("drop", DROP, p, src, dst)


def duplicate(p: float = 1.0, src: int | None = None, dst: int | None = None) -> Chance:
    return Chance("duplicate", DUPLICATE, p, src, dst)


def delay(seconds: float, p: float = 1.0, src: int | None = None, dst: int | None = None) -> Chance:
    return Chance("delay", late(seconds), p, src, dst)


def reorder(
    seconds: float, p: float = 1.0, src: int | None = None, dst: int | None = None
) -> Chance:
    return Chance("reorder", overtaken(seconds), p, src, dst)


def cut(p: float = 1.0, src: int | None = None, dst: int | None = None) -> Chance:
    return Chance("cut", CUT, p, src, dst)
