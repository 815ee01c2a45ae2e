"""One run to be made, and its name: a token that fits into a line, and makes the same run again.

mtd1:seed=412;ranks=8;hard=ojr;drop=2>3#17;partition=0+1|2+3,at=2ms,heal=5ms;event=117
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

from transports.faults import plans
from transports.faults.plans import Fault
from transports.virtual.fault_injector import Plan

VERSION = "mtd1"


@dataclass(frozen=True)
class FailureCase:
    """The settings in which a run differs from others of the same program."""

    seed: int
    world_size: int
    faults: tuple[Fault, ...] = ()
    hardships: str = ""
    reliable: bool = True
    choices: tuple[int, ...] = ()  # of `exhaust`: which of those who could be first was
    event: int | None = None  # at which it failed
    limit: int | None = None  # how many events made it a livelock, where a number was given

    def plan(self) -> Plan:
        return Plan(self.faults, self.reliable)

    def __str__(self) -> str:
        words = [f"seed={self.seed}", f"ranks={self.world_size}"]
        words += [f"hard={self.hardships}"] if self.hardships else []
        words += [] if self.reliable else ["unreliable"]
        words += ["choices=" + ".".join(map(str, self.choices))] if self.choices else []
        words += map(str, self.faults)
        words += [] if self.event is None else [f"event={self.event}"]
        words += [] if self.limit is None else [f"limit={self.limit}"]
        return f"{VERSION}:{';'.join(words)}"


WORDS: dict[str, tuple[str, Callable[[str], Any]]] = {
    "seed": ("seed", int),
    "ranks": ("world_size", int),
    "hard": ("hardships", str),
    "unreliable": ("reliable", lambda value: False),
    "choices": ("choices", lambda value: tuple(map(int, value.split(".")))),
    "event": ("event", int),
    "limit": ("limit", int),
}
"""The words of a token: the field of the case, and how it is read."""


def parse(token: str) -> FailureCase:
    """ValueError says what is no part of a token."""
    version, _, rest = token.strip().strip("\"'").partition(":")
    if version != VERSION:
        raise ValueError(f"{token!r} is no replay token: it begins with {VERSION}:")
    case, faults = FailureCase(0, 0), []
    for word in filter(None, (part.strip() for part in rest.split(";"))):
        name, _, value = word.partition("=")
        if name in WORDS:
            field, read = WORDS[name]
            change: dict[str, Any] = {field: read(value)}
            case = replace(case, **change)
        else:
            faults.append(plans.parse(word))
    if case.world_size < 1:
        raise ValueError(f"{token!r} does not say how many ranks there were (ranks=…)")
    return replace(case, faults=tuple(plans.check(faults, case.world_size)))
