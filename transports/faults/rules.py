"""Rules that give a verdict on each message, and verbs in pairs.

    faults = Faults(seed=7)
    faults.install(plans.drop(0.01, dst=2))           # what `plans` can say, or a plain function
    with faults.install(lambda m: DROP if m.nbytes > 1000 else None):
        …                                             # it leaves with the block
    faults.partition({0, 1}, {2}); …; faults.heal()   # what is sent across is gone
    faults.hold(0, 1);             …; faults.release()  # what is sent waits

Rules are asked in the order they were installed; the first that has a verdict decides. Chance is keyed and
not drawn in turn. The fate of the n-th message from a to b depends on the seed, the rule's kind, a, b and n
alone. So it is the same in every run and process, and taking one rule away leaves the others' verdicts as
they were.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Collection
from dataclasses import dataclass
from hashlib import blake2b
from itertools import count
from typing import NamedTuple, TypeAlias

from transports.clock import PICO
from transports.faults import plans


class FaultyMessage(NamedTuple):
    """A message as a rule sees it."""

    src: int
    dst: int
    number: int  # among the messages from src to dst
    header: bytes
    nbytes: int
    at: int = 0  # picoseconds since the transport connected


@dataclass(frozen=True)
class FaultVerdict:
    """`copies` of the message, `seconds` later; in order (those behind it wait) or not; or cut."""

    copies: int = 1
    seconds: float = 0.0
    in_order: bool = True
    is_held: bool = False
    is_cut: bool = False


PASS = FaultVerdict()
DROP = FaultVerdict(copies=0)
DUPLICATE = FaultVerdict(copies=2)
HOLD = FaultVerdict(is_held=True)
CUT = FaultVerdict(copies=0, is_cut=True)  # the connection breaks: both sides lose each other


def late(seconds: float) -> FaultVerdict:
    """A slow link: this message comes later, and those behind it with it."""
    return FaultVerdict(seconds=seconds)


def overtaken(seconds: float) -> FaultVerdict:
    """This message comes later, and those behind it overtake it."""
    return FaultVerdict(seconds=seconds, in_order=False)


Rule: TypeAlias = Callable[[FaultyMessage], FaultVerdict | None]


class Faults:
    """The rules of one network. Ranks that are threads share one; processes make equal ones.

    With `reliable`, the plan is for packets below a transport that sends again. A drop then costs `again`
    seconds and a duplicate nothing, and the order stays as it was.
    """

    def __init__(self, seed: int = 0, reliable: bool = False, again: float = 0.05) -> None:
        self.seed, self.reliable, self.again = seed, reliable, again
        self._rules: dict[int, Rule] = {}
        self._numbers = count()
        self._partitions: list[tuple[frozenset[int], frozenset[int]]] = []
        self._holds: list[tuple[int | None, int | None]] = []
        self._listeners: list[Callable[[], None]] = []

    def chance(self, kind: str, message: FaultyMessage) -> float:
        """A number in [0, 1) that belongs to this kind of fault and this message."""
        return chance(self.seed, kind, message.src, message.dst, message.number)

    def install(self, rule: Rule | plans.Fault) -> RuleHandle:
        """Add a rule behind the others; the guard removes it, at the end of a `with` or by `remove`."""
        number = next(self._numbers)
        self._rules[number] = rule if callable(rule) else self._rule_of(rule)
        return RuleHandle(self, number)

    def _rule_of(self, fault: plans.Fault) -> Rule:
        """A planned fault as a rule for a transport that is not simulated."""
        if isinstance(fault, plans.Strike):
            return lambda message: self._struck(fault, message)
        if isinstance(fault, plans.Partition):
            return lambda m: (
                self._parted(fault.heal, m) if fault.parts(m.src, m.dst, m.at) else None
            )
        if isinstance(fault, plans.Clog):
            return lambda m: (
                late(_rest(fault.until, m)) if fault.stops(m.src, m.dst, m.at) else None
            )
        if isinstance(fault, plans.Crash):
            return lambda m: CUT if fault.rank in (m.src, m.dst) and m.at >= fault.at else None
        warnings.warn(
            f"{fault} does nothing here: where time is real, nobody can make a rank slower",
            RuntimeWarning,
            stacklevel=3,
        )
        return lambda message: None

    def _struck(self, fault: plans.Strike, message: FaultyMessage) -> FaultVerdict | None:
        if not fault.fits(*message[:3], message.at):
            return None
        if fault.p < 1.0 and self.chance(fault.kind, message) >= fault.p:
            return None
        if fault.kind == "cut":
            return CUT
        if fault.kind == "drop":
            return late(self.again) if self.reliable else DROP
        if fault.kind == "duplicate":
            return PASS if self.reliable else DUPLICATE
        seconds = fault.span / PICO
        if fault.kind == "jitter":
            seconds *= self.chance("jitter span", message)
        return (
            overtaken(seconds) if fault.kind == "reorder" and not self.reliable else late(seconds)
        )

    def _parted(self, heal: int | None, message: FaultyMessage) -> FaultVerdict:
        if not self.reliable:
            return DROP
        return CUT if heal is None else late(_rest(heal, message))

    def remove(self, number: int) -> None:
        self._rules.pop(number, None)

    def judge(self, message: FaultyMessage) -> FaultVerdict:
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
        """Let the held messages come, in their order."""
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


class RuleHandle:
    """Takes its rule out again."""

    def __init__(self, faults: Faults, number: int) -> None:
        self._faults, self._number = faults, number

    def remove(self) -> None:
        self._faults.remove(self._number)

    def __enter__(self) -> RuleHandle:
        return self

    def __exit__(self, *error: object) -> None:
        self.remove()


def chance(seed: int, kind: str, src: int, dst: int, number: int, attempt: int = 0) -> float:
    """A number in [0, 1), a hash of all these: the same wherever and whenever it is asked for."""
    key = b"%d %b %d %d %d %d" % (seed, kind.encode(), src, dst, number, attempt)
    return int.from_bytes(blake2b(key, digest_size=6).digest(), "big") / 2**48


def _rest(end: int | None, message: FaultyMessage) -> float:
    """Seconds from a message to the end of what befalls it."""
    return FOREVER if end is None else (end - message.at) / PICO


FOREVER = 1e6  # seconds, 11 days
