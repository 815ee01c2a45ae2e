"""Faults with simpler numbers: a token that says "after 1 ms" is read sooner than one with picoseconds.

    crash=1,at=1283746ps   →   crash=1,at=1us

Of each number the simplest comes first that may do: none at all, a power of ten, one digit, two digits.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import fields, replace
from typing import Any

from transports.faults.plans import Fault

TIMES = ("at", "until", "heal", "restart", "span")  # picoseconds
FACTORS = ("p", "x")


def simpler(fault: Fault) -> Iterator[Fault]:
    """The same with one number made simpler, the simplest first."""
    names = [field.name for field in fields(fault)]
    for name in names:
        value = getattr(fault, name)
        if name in TIMES and value:
            yield from _with(fault, name, rounder(value, zero=name == "at"))
        elif name in FACTORS and value not in (1.0, 2.0, 10.0):
            nice = [1.0] if name == "p" else [10.0, 2.0, float(round(value))]
            yield from _with(fault, name, nice)


def rounder(value: int, zero: bool = False) -> list[int]:
    """Whole numbers near it with fewer digits: of equal length the smaller one first."""
    found = [0] if zero else []
    digits = len(str(value))
    power: int = 10 ** (digits - 1)
    if value % power == 0:  # one digit: that is simple
        return found
    found += [power, 10 * power]
    for kept in (1, 2):
        unit: int = 10 ** max(digits - kept, 0)
        found += [value // unit * unit, -(-value // unit) * unit]
    found = list(dict.fromkeys(found))
    return found[: found.index(value)] if value in found else found


def _with(fault: Fault, name: str, values: list[Any]) -> Iterator[Fault]:
    for value in values:
        if value == getattr(fault, name):
            continue
        change: dict[str, Any] = {name: value}
        try:
            yield replace(fault, **change)
        except ValueError:  # an end before its beginning
            continue
