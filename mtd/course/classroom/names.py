"""The names that strangers give themselves, made fit to be shown: on a terminal, on a page, to a class."""

from __future__ import annotations

import unicodedata
from collections.abc import Collection
from typing import Final

from rich.cells import cell_len

WIDEST: Final = 16  # columns of a terminal
MARKS: Final = 2  # accents that one letter may carry
NOBODY: Final = "somebody"


def clean(said: str, widest: int = WIDEST) -> str:
    """At most so many columns of letters that can be seen.

    No control characters, no escape codes, none that turn the writing direction or have no width; no towers of
    accents. Markup stays as it is: a name is always shown as text.
    """
    kept: list[str] = []
    marks = width = 0
    for letter in unicodedata.normalize("NFC", said[:1000]):
        kind = unicodedata.category(letter)
        if kind[0] in "CZ":
            letter, kind = (" ", "Zs") if kind[0] == "Z" or letter in "\t\r\n" else ("", kind)
        marks = marks + 1 if kind[0] == "M" else 0
        is_idle = letter == " " and kept[-1:] in ([], [" "])
        if not letter or marks > MARKS or (marks and not kept) or is_idle:
            continue
        columns = cell_len(letter)
        if width + columns > widest:
            break
        kept.append(letter)
        width += columns
    return "".join(kept).strip()


def unlike(wanted: str, taken: Collection[str]) -> str:
    """This name, or with a number after it, so that two who are called alike can be told apart."""
    name = clean(wanted) or NOBODY
    folded = {one.casefold() for one in taken}
    number, found = 1, name
    while found.casefold() in folded:
        number += 1
        tail = f" {number}"
        found = clean(name, WIDEST - len(tail)) + tail
    return found
