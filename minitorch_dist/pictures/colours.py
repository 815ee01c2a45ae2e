"""Colours that can be told apart by nearly everybody, on white and on black (Okabe and Ito 2008)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, NamedTuple


class Colour(NamedTuple):
    hex: str
    dark: str  # on a dark page
    terminal: str  # one of the sixteen that every terminal has


PALETTE: Final = (
    Colour("#0072b2", "#4aa8e0", "blue"),
    Colour("#d55e00", "#ff8a4d", "red"),
    Colour("#009e73", "#2fc79a", "green"),
    Colour("#cc79a7", "#e3a3c8", "magenta"),
    Colour("#e69f00", "#f2b93b", "yellow"),
    Colour("#56b4e9", "#8fd0f5", "cyan"),
    Colour("#8c6d31", "#c7a468", "bright_red"),
    Colour("#7b6fd0", "#a9a0ef", "bright_blue"),
)


def colours_of(names: Sequence[str]) -> dict[str, Colour]:
    """A colour for each name, in order; after eight they come again."""
    return {name: PALETTE[number % len(PALETTE)] for number, name in enumerate(names)}
