"""The demands of lamps, and why nothing can be better: for `mtd why`.

The formulas are those of `distributed.schedules.bounds`, which the checks measure against.
"""

from __future__ import annotations

import ast
from collections.abc import Callable
from dataclasses import dataclass

from minitorch_dist.distributed.schedules import bounds
from mtd.course.lesson import Lesson

SIZES = (2, 3, 4, 8, 64, 1024)


@dataclass(frozen=True)
class Bound:
    """A lamp in words."""

    lamp: str
    star: int
    asks: str
    formula: str
    proof: str
    table: Callable[[int], str] | None = None  # for so many ranks

    def rows(self) -> list[tuple[int, str]]:
        return [] if self.table is None else [(size, self.table(size)) for size in SIZES]


def _bytes(size: int) -> str:
    return f"{float(bounds.least_bytes('all_reduce', size, 10**6)):,.0f} bytes of an all_reduce of 1,000,000"


def _rounds(size: int) -> str:
    return f"{bounds.least_rounds(size)} rounds"


BOUNDS = {
    bound.lamp: bound
    for bound in (
        Bound(
            "correct", 1,
            "The result is that of one machine: for 1, 2, 3, 5 and 8 ranks, for no elements, fewer elements than ranks, and "
            "negative ones.",
            "result on every rank = f(x₀, x₁, …, x of rank P-1)",
            "It is compared with numpy. Two ranks alone prove little: with P = 2 is +1 the same as -1, so a ring that runs "
            "the wrong way passes.",
        ),
        Bound(
            "exactly once", 1,
            "In each element of the result is the contribution of every rank, once.",
            "rank r gives Bʳ; in base B, digit r of the sum says how often r is in it",
            "The digits do not mix as long as none reaches B. A program that only adds and copies treats all numbers alike. " "So one run with such labels proves its own order of arrival, for all inputs of this size. It proves no other order.",
        ),
        Bound(
            "never stuck", 2,
            "It ends also where a send waits until the other side receives.",
            "no circle of ranks each of which waits for the next",
            "A waiting rank that is not in a circle waits for a rank that can go on. So some rank can always go on. A laptop's sends are "
            "buffered and hide the circle; a cluster's large ones are not.",
        ),
        Bound(
            "frozen", 2,
            "Nothing is written to while it is being sent.",
            "between isend and the end of wait() the tensor stays as it is",
            "isend may read the memory at any moment until wait() returns. If it changes meanwhile, the message depends on " "which side was quicker.",
        ),
        Bound(
            "bytes", 3,
            "The rank that sends most sends no more than has to be sent.",
            "all_reduce 2 (P-1)/P n · all_gather, reduce_scatter, all_to_all (P-1)/P n · broadcast n",
            "There are P sums of n/P numbers each. P-1 contributions have to reach the place where a sum is added, and the sum " "P-1 ranks from there. These are 2 (P-1) n bytes in all, so one of the P ranks sends at least the P-th part of that.",
            _bytes,
        ),
        Bound(
            "rounds", 3,
            "As few messages as possible follow each other on the longest way.",
            "⌈log₂ P⌉ (a ring, which saves bytes instead, takes 2 (P-1))",
            "In one round each rank that knows something can tell one other: the number of those who know it at most doubles. "
            "After k rounds 2ᵏ know it, and all P have to.",
            _rounds,
        ),
        Bound(
            "memory", 3,
            "No more is held at once than is needed.",
            "most live bytes of any rank ≤ what the lesson allows; views cost nothing",
            "Every storage is entered in the ledger of its rank when it is made, and leaves it when nobody holds it any more. " "The peak is counted, with local variables.",
        ),
        Bound(
            "cheap", 3,
            "It is close to the least bytes, or to the fewest rounds.",
            "bytes ≤ 1.2 × the bound, or rounds ≤ 1.5 × the bound",
            "Both at once cannot be had with one port for every P and n; lesson 15 is about which of the two one wants.",
        ),
    )
}  # fmt: skip


def of_lesson(lesson: Lesson) -> dict[str, tuple[str, int | None]]:
    """For each lamp of a lesson's check: its function's docstring, and the star that it gives."""
    tree = ast.parse((lesson.folder / "check.py").read_text("utf-8"))
    found: dict[str, tuple[str, int | None]] = {}
    for function in tree.body:
        if not isinstance(function, ast.FunctionDef):
            continue
        for mark in function.decorator_list:
            if isinstance(mark, ast.Call) and isinstance(mark.func, ast.Name) and mark.func.id == "lamp":
                words = [word.value for word in mark.args if isinstance(word, ast.Constant)]
                stars = [
                    key.value.value for key in mark.keywords
                    if key.arg == "star" and isinstance(key.value, ast.Constant)
                ]  # fmt: skip
                star = stars[0] if stars and isinstance(stars[0], int) else None
                said = ast.get_docstring(function) or ""
                found |= {word: (said, star) for word in words if isinstance(word, str)}
    return found
