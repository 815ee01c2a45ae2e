"""How people write spans of time, amounts and rates: "2us", "64KB", "100Gb/s"; and how we say them.

Time is counted in whole picoseconds, and the cost of a byte is an exact fraction of them. So nothing is
rounded before a message's length is known: 100 Gb/s are 80 ps for a byte, 150 GB/s are 20/3. K, M, G, T are
powers of a thousand, Ki, Mi, Gi, Ti of 1024; b are bits, B bytes.
"""

from __future__ import annotations

import re
from fractions import Fraction

from transports.clock import PICO

SPANS = {"ps": 1, "ns": 10**3, "us": 10**6, "µs": 10**6, "ms": 10**9, "s": 10**12}
_POWERS = {"K": 1, "M": 2, "G": 3, "T": 4}
FACTORS = {"": 1, "k": 1000}
FACTORS |= {letter: 1000**power for letter, power in _POWERS.items()}
FACTORS |= {f"{letter}i": 1024**power for letter, power in _POWERS.items()}

LARGEST = 10**30  # of the number before a unit; what is not 0 is at least one part in so many
_QUANTITY = re.compile(r"\s*(\d+(?:\.\d*)?(?:e[+-]?\d{1,3})?)\s*([^\s\d]*)\s*")


def span(text: str | int) -> int:
    """Picoseconds of "2us"; a whole number is picoseconds already."""
    if isinstance(text, int):
        return int(_positive(text, text))
    number, unit = _parts(text)
    if unit not in SPANS:
        raise ValueError(f"{text!r} is not a span of time: write a number with one of {_list(SPANS)}")
    return round(number * SPANS[unit])


def amount(text: str | int) -> int:
    """Bytes of "64KB"; a whole number is bytes already."""
    if isinstance(text, int):
        return int(_positive(text, text))
    number, unit = _parts(text)
    return round(number * _bytes(unit.removesuffix("B") if unit != "B" else "", text))


def byte_time(rate: str | int | Fraction) -> Fraction:
    """Picoseconds for one byte at a rate like "100Gb/s" or "12.5GB/s"; a number is that already."""
    if isinstance(rate, int | Fraction):
        return Fraction(_positive(rate, rate))
    number, unit = _parts(rate)
    for ending, bits in (("b/s", 1), ("bit/s", 1), ("B/s", 8)):
        if unit.endswith(ending):
            bits_per_second = number * _bytes(unit.removesuffix(ending), rate) * bits
            if bits_per_second:
                return Fraction(8 * PICO) / bits_per_second
    raise ValueError(f"{rate!r} is not a rate: write it like 100Gb/s (bits) or 12.5GB/s (bytes)")


def in_words(picoseconds: int) -> str:
    """A span as people read it: 1204 µs are "1.204 ms"."""
    for unit in ("s", "ms", "µs", "ns"):
        if abs(picoseconds) >= SPANS[unit]:
            return f"{picoseconds / SPANS[unit]:.6g} {unit}"
    return f"{picoseconds} ps"


def _parts(text: str) -> tuple[Fraction, str]:
    match = _QUANTITY.fullmatch(text) if isinstance(text, str) else None
    if match is None:
        raise ValueError(f"{text!r} is not a quantity: write a number and a unit, like 2us or 100Gb/s")
    number = Fraction(match[1].removesuffix("."))
    if number and not Fraction(1, LARGEST) <= number <= LARGEST:
        raise ValueError(f"{text!r} is not a quantity that occurs: at most 1e30, and at least 1e-30")
    return number, match[2]


def _bytes(factor: str, text: str) -> int:
    if factor not in FACTORS:
        raise ValueError(f"{text!r}: {factor!r} is none of {_list(FACTORS)}")
    return FACTORS[factor]


def _positive(number: int | Fraction, text: object) -> int | Fraction:
    if number < 0:
        raise ValueError(f"{text!r} is less than nothing")
    return number


def _list(names: dict[str, int]) -> str:
    return ", ".join(name for name in names if name)
