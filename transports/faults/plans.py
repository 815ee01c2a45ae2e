"""Faults as data, which can be written down, compared, taken apart and read back.

    drop(0.01, src=0)                    one message in a hundred of rank 0 is lost
    delay("1ms", p=0.1)                  one in ten comes a millisecond later
    duplicate(0.01), reorder(0.05)       comes twice; is overtaken by those behind it
    partition({0, 1}, {2, 3}, at="2ms", heal="5ms")
    clog(4, "in", until="3ms")           nothing reaches rank 4, and nothing is lost
    slow(3, x=2.5)                       rank 3 computes two and a half times as long
    crash(5, at="1.2ms", restart="4ms")  killed, and started again

A fault says what happens and to which rank, not how: over `sim://` a `fault_injector` carries it out to the
picosecond. Each has a text, `drop=0.01,src=0`, from which `parse` builds it, so a plan fits into one line, or a
file.

Spans are texts like "1.2ms", or seconds; instants count from the start of the run.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass, replace
from difflib import get_close_matches
from hashlib import blake2b
from math import inf
from typing import Any, TypeAlias, TypedDict, Unpack

from transports.clock import picoseconds
from transports.quantities import SPANS, span

Span: TypeAlias = "str | float"


def instant(value: Span) -> int:
    """Picoseconds of "1.2ms", or of a number of seconds."""
    return span(value) if isinstance(value, str) else picoseconds(value)


def written(picos: int) -> str:
    """A span so that it can be read back exactly: 1_200_000_000 is "1200us"."""
    for unit in ("s", "ms", "us", "ns"):
        if picos and picos % SPANS[unit] == 0:
            return f"{picos // SPANS[unit]}{unit}"
    return f"{picos}ps"


def chance(seed: int, kind: str, src: int, dst: int, number: int, attempt: int = 0) -> float:
    """A number in [0, 1), a hash of all these: the same wherever and whenever it is asked for."""
    key = b"%d %b %d %d %d %d" % (seed, kind.encode(), src, dst, number, attempt)
    return int.from_bytes(blake2b(key, digest_size=6).digest(), "big") / 2**48


def _is_during(at: int, until: int | None, now: int) -> bool:
    return at <= now and (until is None or now < until)


def _said(kind: str, *words: object, **spans: int | None) -> str:
    """The text of a fault. A span of None is not said."""
    named = [f"{name}={written(span)}" for name, span in spans.items() if span is not None]
    return f"{kind}={','.join([*map(str, words), *named])}"


@dataclass(frozen=True)
class Strike:
    """A fault of single messages: each that fits is struck with probability `p`.

    `kind` is drop, duplicate, delay, reorder, jitter or cut; None stands for any rank, and for any
    number among the messages from `src` to `dst`.
    """

    kind: str
    p: float = 1.0
    span: int = 0
    src: int | None = None
    dst: int | None = None
    number: int | None = None
    at: int = 0
    until: int | None = None

    def __post_init__(self) -> None:
        if not 0.0 <= self.p <= 1.0:
            raise ValueError(f"{self.kind}: p={self.p} is no probability")

    def fits(self, src: int, dst: int, number: int, now: int) -> bool:
        return (
            self.src in (None, src)
            and self.dst in (None, dst)
            and self.number in (None, number)
            and _is_during(self.at, self.until, now)
        )

    def on(self, src: int, dst: int, number: int) -> Strike:
        """The same for this one message, for certain."""
        return replace(self, p=1.0, src=src, dst=dst, number=number, at=0, until=None)

    def __str__(self) -> str:
        is_one = None not in (self.src, self.dst, self.number)
        span = [written(self.span)] if self.span else []
        if is_one and (self.p, self.at, self.until) == (1.0, 0, None):
            return _said(self.kind, f"{self.src}>{self.dst}#{self.number}", *span)
        p = [] if self.p == 1.0 else [f"p={self.p!r}" if span else self.p]
        which = [f"{n}={v}" for n in ("src", "dst", "number") if (v := getattr(self, n)) is not None]
        return _said(self.kind, *span, *p, *which, at=self.at or None, until=self.until)


@dataclass(frozen=True)
class Slow:
    """Rank `rank` takes `x` times as long: `what` is "compute", or "network" (its ports)."""

    rank: int
    x: float
    what: str = "compute"
    at: int = 0
    until: int | None = None

    def __post_init__(self) -> None:
        if self.what not in ("compute", "network") or not 0 < self.x < inf:
            raise ValueError(
                f"slow takes a finite x > 0 and what='compute' or 'network', not x={self.x}, {self.what!r}"
            )

    def stretch(self, picos: int, now: int) -> int:
        """The new length of a span that begins now."""
        return round(picos * self.x) if _is_during(self.at, self.until, now) else picos

    def __str__(self) -> str:
        what = [] if self.what == "compute" else [f"what={self.what}"]
        return _said("slow", self.rank, f"x={self.x!r}", *what, at=self.at or None, until=self.until)


@dataclass(frozen=True)
class Partition:
    """Nothing gets from one side to the other, from `at` until `heal` (None: never again)."""

    one: frozenset[int]
    other: frozenset[int]
    at: int = 0
    heal: int | None = None

    def parts(self, src: int, dst: int, now: int) -> bool:
        apart = (src in self.one and dst in self.other) or (src in self.other and dst in self.one)
        return apart and _is_during(self.at, self.heal, now)

    def __str__(self) -> str:
        sides = "|".join("+".join(map(str, sorted(side))) for side in (self.one, self.other))
        return _said("partition", sides, at=self.at or None, heal=self.heal)


@dataclass(frozen=True)
class Clog:
    """Messages "in" to a rank, or "out" of it, or "both", wait; nothing is lost."""

    rank: int
    way: str = "in"
    at: int = 0
    until: int | None = None

    def __post_init__(self) -> None:
        if self.way not in ("in", "out", "both"):
            raise ValueError(f"a clog is 'in', 'out' or 'both', not {self.way!r}")

    def stops(self, src: int, dst: int, now: int) -> bool:
        is_in_way = (self.way != "in" and src == self.rank) or (self.way != "out" and dst == self.rank)
        return is_in_way and _is_during(self.at, self.until, now)

    def __str__(self) -> str:
        return _said("clog", self.rank, self.way, at=self.at or None, until=self.until)


@dataclass(frozen=True)
class Crash:
    """The process of `rank` is killed; at `restart` (None: never) it is started again."""

    rank: int
    at: int
    restart: int | None = None

    def __post_init__(self) -> None:
        if self.restart is not None and self.restart <= self.at:
            raise ValueError(f"rank {self.rank} cannot be restarted before it has crashed: {self}")

    def __str__(self) -> str:
        return _said("crash", self.rank, at=self.at, restart=self.restart)


Fault: TypeAlias = "Strike | Slow | Partition | Clog | Crash"
KINDS = ("slow", "drop", "delay", "duplicate", "reorder", "jitter", "cut", "partition", "clog", "crash")
LAG = "1ms"  # by how much a reordered message is overtaken, unless one says


class Which(TypedDict, total=False):
    """Which messages a fault may hit, and when: all of them, always, unless one says."""

    src: int | None
    dst: int | None
    number: int | None  # this one of those from `src` to `dst`
    at: Span
    until: Span | None


def drop(p: float = 1.0, **which: Unpack[Which]) -> Strike:
    """A message is lost. A reliable transport sends it again, and it comes late.

    Args:
        p: The chance of each message.
        **which: `src` and `dst` (ranks), `number` (of the message between them), and the times `at` and `until`.

    Returns:
        The fault, for `faults=`.

    Example:
        >>> str(sim.drop(0.01, src=0))
        'drop=0.01,src=0'
    """
    return _strike("drop", p, 0, **which)


def duplicate(p: float = 1.0, **which: Unpack[Which]) -> Strike:
    """A message comes twice. A reliable transport forgets the second one.

    Args:
        p: The chance of each message.
        **which: `src` and `dst` (ranks), `number` (of the message between them), and the times `at` and `until`.

    Returns:
        The fault, for `faults=`.

    Example:
        >>> sim.run(dist.get_rank, 2, faults=[sim.duplicate()]).results
        [0, 1]
    """
    return _strike("duplicate", p, 0, **which)


def delay(by: Span, p: float = 1.0, **which: Unpack[Which]) -> Strike:
    """A message comes later, and those behind it wait for it.

    Args:
        by: By how much, such as "1ms".
        p: The chance of each message.
        **which: `src` and `dst` (ranks), `number` (of the message between them), and the times `at` and `until`.

    Returns:
        The fault, for `faults=`.

    Example:
        >>> sim.run(dist.barrier, 2, faults=[sim.delay("1ms", src=0)]).time
        1005000000
    """
    return _strike("delay", p, by, **which)


def reorder(p: float = 1.0, by: Span = LAG, **which: Unpack[Which]) -> Strike:
    """A message comes later, and those behind it overtake it. A reliable transport puts them in order again, so there they wait.

    Args:
        p: The chance of each message.
        by: By how much it is late.
        **which: `src` and `dst` (ranks), `number` (of the message between them), and the times `at` and `until`.

    Returns:
        The fault, for `faults=`.

    Example:
        >>> sim.run(dist.barrier, 2, faults=[sim.reorder(by="2ms")]).time
        2005000000
    """
    return _strike("reorder", p, by, **which)


def jitter(most: Span, p: float = 1.0, **which: Unpack[Which]) -> Strike:
    """A message comes later by something between nothing and `most`.

    Args:
        most: The longest delay, such as "50us".
        p: The chance of each message.
        **which: `src` and `dst` (ranks), `number` (of the message between them), and the times `at` and `until`.

    Returns:
        The fault, for `faults=`.

    Example:
        >>> 5000000 <= sim.run(dist.barrier, 2, faults=[sim.jitter("1ms")]).time <= 1005000000
        True
    """
    return _strike("jitter", p, most, **which)


def cut(p: float = 1.0, **which: Unpack[Which]) -> Strike:
    """The connection breaks with this message: both sides lose each other.

    Args:
        p: The chance of each message.
        **which: `src` and `dst` (ranks), `number` (of the message between them), and the times `at` and `until`.

    Returns:
        The fault, for `faults=`.

    Example:
        >>> try:
        ...     sim.run(dist.barrier, 2, faults=[sim.cut(src=0)])
        ... except dist.PeerLost as error:
        ...     error.rank in (0, 1)
        True
    """
    return _strike("cut", p, 0, **which)


def _strike(kind: str, p: float, late: Span, at: Span = 0, until: Span | None = None, **which: int | None) -> Strike:
    return Strike(kind, p, instant(late), at=instant(at), until=_end(until), **which)


def partition(one: Collection[int], other: Collection[int], *, at: Span = 0, heal: Span | None = None) -> Partition:
    """Nothing gets from the ranks of one side to those of the other.

    Args:
        one: The ranks of one side.
        other: Those of the other.
        at: When it begins.
        heal: When it ends; None is never.

    Returns:
        The fault, for `faults=`.

    Example:
        >>> sim.run(dist.barrier, 2, faults=[sim.partition({0}, {1}, heal="5ms")]).time > 5_000_000_000
        True
    """
    return Partition(frozenset(one), frozenset(other), instant(at), _end(heal))


def clog(rank: int, way: str = "in", *, at: Span = 0, until: Span | None = None) -> Clog:
    """Nothing gets into a rank, or out of it. Nothing is lost.

    Args:
        rank: The rank.
        way: "in" or "out".
        at: When it begins.
        until: When it ends; None is never.

    Returns:
        The fault, for `faults=`.

    Example:
        >>> sim.run(dist.barrier, 2, faults=[sim.clog(1, until="3ms")]).time
        3000000000
    """
    return Clog(rank, way, instant(at), _end(until))


def slow(rank: int, x: float, what: str = "compute", *, at: Span = 0, until: Span | None = None) -> Slow:
    """A rank computes more slowly, or its ports are slower.

    Args:
        rank: The rank.
        x: How many times as long it takes.
        what: "compute", or "network" for its ports.
        at: When it begins.
        until: When it ends; None is never.

    Returns:
        The fault, for `faults=`.

    Example:
        >>> sim.run(lambda: sim.compute("2ms"), 2, faults=[sim.slow(1, x=2.5)]).time
        5000000000
    """
    return Slow(rank, x, what, instant(at), _end(until))


def crash(rank: int, *, at: Span, restart: Span | None = None) -> Crash:
    """A rank is killed where it stands, and may be started again.

    Args:
        rank: The rank.
        at: When.
        restart: When it is started again; None is never.

    Returns:
        The fault, for `faults=`.

    Example:
        >>> sim.run(lambda: sim.compute("5ms"), 2, faults=[sim.crash(1, at="1ms")]).results
        [None, None]
    """
    return Crash(rank, instant(at), _end(restart))


# ------------------------------------------------------------------------------------- from text


def parse(text: str) -> Fault:
    """The fault of a text like `drop=0.01,src=0`, `delay=1ms,p=0.1`, `drop=2>3#17`,
    `partition=0+1|2+3,at=2ms,heal=5ms`, `clog=4,in`, `slow=3,x=2.5`, `crash=5,at=1200us`."""
    kind, _, rest = text.strip().partition("=")
    if kind not in KINDS:
        meant = "".join(f" (perhaps {one}?)" for one in get_close_matches(kind, KINDS, 1))
        raise ValueError(f"{text!r} is not a fault{meant}: it begins with one of {', '.join(KINDS)} and =")
    words = [word.strip() for word in rest.split(",") if word.strip()]
    plain = [word for word in words if "=" not in word]
    named = dict(word.split("=", 1) for word in words if "=" in word)
    try:
        return _made(kind, plain, named)
    except (ValueError, TypeError, IndexError) as error:
        raise ValueError(f"{text!r} is no {kind} that can be read: {error}") from error


def parse_all(text: str) -> list[Fault]:
    """One fault in each line; empty lines, and those that begin with #, say nothing."""
    lines = (line.strip() for line in text.splitlines())
    return [parse(line) for line in lines if line and not line.startswith("#")]


READERS: dict[str, Callable[[str], Any]] = {
    **dict.fromkeys(("at", "until", "heal", "restart"), span),
    **dict.fromkeys(("src", "dst", "number"), int),
    **dict.fromkeys(("p", "x"), float),
    "what": str,
}


def _made(kind: str, plain: list[str], named: dict[str, str]) -> Fault:
    if unknown := [name for name in named if name not in READERS]:
        raise ValueError(f"there is no {', '.join(unknown)}")
    settings: dict[str, Any] = {name: READERS[name](text) for name, text in named.items()}
    if kind == "partition":
        one, other = (frozenset(int(r) for r in side.split("+")) for side in plain[0].split("|"))
        return Partition(one, other, **settings)
    if kind in ("slow", "crash", "clog"):
        rank, *more = plain
        if len(more) > (kind == "clog"):
            raise ValueError(f"there is no {', '.join(more)}")
        kinds: dict[str, Any] = {"slow": Slow, "crash": Crash, "clog": Clog}
        return kinds[kind](int(rank), *more, **settings)  # type: ignore[no-any-return]
    for word in plain:
        if "#" in word:
            way, _, number = word.partition("#")
            src, _, dst = way.partition(">")
            settings |= {"src": int(src), "dst": int(dst), "number": int(number)}
        elif word[-1].isalpha():
            settings["span"] = span(word)
        else:
            settings["p"] = float(word)
    return Strike(kind, **settings)


def texts(plan: Iterable[Fault]) -> str:
    return ";".join(map(str, plan))


def ranks_of(fault: Fault) -> set[int]:
    """The ranks that it names."""
    if isinstance(fault, Partition):
        return set(fault.one | fault.other)
    names = ("src", "dst") if isinstance(fault, Strike) else ("rank",)
    return {rank for name in names if (rank := getattr(fault, name)) is not None}


def check(plan: Iterable[object], world_size: int) -> list[Fault]:
    """The plan, if it is one for a world of this size."""
    found: list[Fault] = []
    for fault in plan:
        if isinstance(fault, str):
            fault = parse(fault)
        if not isinstance(fault, Strike | Slow | Partition | Clog | Crash):
            raise TypeError(f"{fault!r} is not a fault; make one with drop, delay, partition, …")
        strangers = [rank for rank in ranks_of(fault) if not 0 <= rank < world_size]
        if strangers:
            raise ValueError(f"{fault} names rank {strangers[0]} in a world of {world_size}")
        found.append(fault)
    return found


def _end(value: Span | None) -> int | None:
    return None if value is None else instant(value)
