"""Reading the equations of `einsum`: which label each axis of each operand has.

Labels are numbers; letters count in the order in which an implicit output lists them. Equations are read
once and remembered.
"""

from __future__ import annotations

import string
from collections.abc import Sequence
from functools import lru_cache
from typing import Any, TypeAlias

Labels: TypeAlias = tuple[int, ...]
_LETTERS = string.ascii_uppercase + string.ascii_lowercase
_DOTS = -1  # stands for the ellipsis until it is known how many axes it covers


def name(label: int) -> str:
    return _LETTERS[label] if 0 <= label < len(_LETTERS) else "..."


@lru_cache(maxsize=256)
def equation(text: str) -> tuple[tuple[Labels, ...], Labels | None]:
    """The terms of an equation, and its output if it names one."""
    left, arrow, right = text.partition("->")
    terms, start = [], 0
    for number, term in enumerate(left.split(",")):
        terms.append(_read(term, f"operand {number}", start))
        start += len(term) + 1
    return tuple(terms), _read(right, "the output", len(left) + 2) if arrow else None


def _read(text: str, operand: str, start: int) -> Labels:
    """The labels of one term; the ellipsis as `_DOTS`."""
    found: list[int] = []
    at = 0
    while at < len(text):
        letter = text[at]
        if letter == ".":
            if text[at : at + 3] != "..." or _DOTS in found:
                raise RuntimeError(
                    f"einsum(): found '.' for {operand} that is not part of any ellipsis"
                )
            found.append(_DOTS)
            at += 2
        elif letter != " ":
            if letter not in _LETTERS:
                raise RuntimeError(
                    f"einsum(): invalid subscript given at index {start + at} in the equation "
                    "string, subscripts must be in [a-zA-Z]"
                )
            found.append(_LETTERS.index(letter))
        at += 1
    return tuple(found)


def sublists(args: Sequence[Any]) -> tuple[Sequence[Any], tuple[Labels, ...], Labels | None]:
    """The form einsum(op0, [0, 1], op1, [1, 2], [0, 2]): operands, terms, output."""

    def labels(given: Sequence[Any]) -> Labels:
        for label in given:
            if label is not Ellipsis and not 0 <= label < len(_LETTERS):
                raise RuntimeError(
                    f"einsum(): not within the valid range [0, 52): subscript {label}"
                )
        return tuple(_DOTS if label is Ellipsis else label for label in given)

    pairs = len(args) // 2 * 2
    terms = tuple(labels(given) for given in args[1:pairs:2])
    return args[0:pairs:2], terms, labels(args[-1]) if len(args) % 2 else None


@lru_cache(maxsize=256)
def resolve(
    terms: tuple[Labels, ...], output: Labels | None, ranks: tuple[int, ...]
) -> tuple[tuple[Labels, ...], Labels]:
    """One label for every axis of operands with these ranks, and the labels of the output."""
    if len(ranks) != len(terms):
        more = "more" if len(ranks) > len(terms) else "fewer"
        raise RuntimeError(
            f"einsum(): {more} operands were provided than specified in the equation"
        )
    covered = [
        _covered(number, *pair) for number, pair in enumerate(zip(terms, ranks, strict=True))
    ]
    if output is None:
        flat = [label for term in terms for label in term if label != _DOTS]
        output = (_DOTS, *sorted(label for label in set(flat) if flat.count(label) == 1))
    _check_output(output, terms)
    labels = tuple(_spread(term, n) for term, n in zip(terms, covered, strict=True))
    return labels, _spread(output, max(covered))


def _spread(term: Labels, n: int) -> Labels:
    """The ellipsis as n labels, numbered from the right, so that operands broadcast."""
    if _DOTS not in term:
        return term
    at = term.index(_DOTS)
    return (*term[:at], *range(1000 - n, 1000), *term[at + 1 :])


def _covered(number: int, term: Labels, rank: int) -> int:
    """How many axes the ellipsis of a term stands for."""
    dots = _DOTS in term
    n = rank - len(term) + dots
    if n < 0 or (n > 0 and not dots):
        raise RuntimeError(
            f"einsum(): the number of subscripts in the equation ({len(term) - dots}) "
            + ("is more than" if dots else "does not match")
            + f" the number of dimensions ({rank}) for operand {number}"
            + ("" if dots else " and no ellipsis was given")
        )
    return n


def _check_output(output: Labels, terms: Sequence[Labels]) -> None:
    for label in output:
        if output.count(label) > 1:
            raise RuntimeError(
                f"einsum(): output subscript {name(label)} appears more than once in the output"
            )
        if label != _DOTS and not any(label in term for term in terms):
            raise RuntimeError(
                f"einsum(): output subscript {name(label)} does not appear in the equation for any "
                "input operand"
            )
