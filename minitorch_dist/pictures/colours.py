"""Colours that can be told apart by nearly everybody, on white and on black (Okabe and Ito 2008)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, NamedTuple


class Colour(NamedTuple):
    hex: str
    terminal: str  # one of the sixteen that every terminal has


PALETTE: Final = (
    Colour("#0072b2", "blue"),
    Colour("#d55e00", "red"),
    Colour("#009e73", "green"),
    Colour("#cc79a7", "magenta"),
    Colour("#e69f00", "yellow"),
    Colour("#56b4e9", "cyan"),
    Colour("#8c6d31", "bright_red"),
    Colour("#7b6fd0", "bright_blue"),
)


def colours_of(names: Sequence[str]) -> dict[str, Colour]:
    """A colour for each name, in order; after eight they come again."""
    return {name: PALETTE[number % len(PALETTE)] for number, name in enumerate(names)}
