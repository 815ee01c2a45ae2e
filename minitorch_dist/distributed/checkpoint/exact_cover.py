"""Whether boxes cover a tensor exactly once; where they do not, which part, and how often.

Each box is counted at its corners only: +1 where it begins, -1 where it ends, and in more dimensions
the product of these. Sums over all corners before a place say how many boxes hold the place:

    boxes      ├───────┤ ├───┤          0-4 and 5-7 of 8 elements
    corners    +1      -1+1  -1         minus those of the whole, +1 at 0 and -1 at 8
    left       .       -1+1  -1 +1      something is left: they do not cover it exactly once

If nothing is left, the boxes are the whole. Otherwise nothing lies before the first corner that is left, so
the number there is the error itself. Here -1 says that this element is in no box, +1 that it is in two.
Every box is looked at once, however many there are.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable
from itertools import product
from typing import Final, NamedTuple

from minitorch_dist.distributed.checkpoint.pieces import Box

MOST_CUTS: Final = 8  # dimensions that may be cut: a box has 2**8 corners then


class Flaw(NamedTuple):
    """A part of a tensor that is not covered exactly once."""

    part: Box
    times: int  # how many boxes hold it

    def __str__(self) -> str:
        where = ", ".join(
            f"{o}:{o + n}" for o, n in zip(self.part.offsets, self.part.sizes, strict=True)
        )
        what = f"elements [{where}]" if where else "the only element"
        return f"{what} {'are' if where else 'is'} in {self.times or 'none'} of them, not in one"


def flaw(shape: tuple[int, ...], boxes: Collection[Box]) -> Flaw | None:
    """The first part that is not covered exactly once; None if all is well. Boxes lie within the shape;
    ValueError if they are cut in more than MOST_CUTS dimensions."""
    cuts = [
        axis
        for axis, extent in enumerate(shape)
        if any((box.offsets[axis], box.sizes[axis]) != (0, extent) for box in boxes)
    ]
    if len(cuts) > MOST_CUTS:
        raise ValueError(f"they are cut in {len(cuts)} dimensions, and at most {MOST_CUTS} can be")
    if 0 in shape:
        return None
    whole = Box((0,) * len(shape), shape)
    left: Counter[tuple[int, ...]] = Counter()
    for box in boxes:
        for corner, sign in _corners(box, cuts):
            left[corner] += sign
    for corner, sign in _corners(whole, cuts):
        left[corner] -= sign
    first = min((corner for corner, count in left.items() if count), default=None)
    if first is None:
        return None
    offsets, sizes = [0] * len(shape), list(shape)
    for axis, begin in zip(cuts, first, strict=True):
        offsets[axis] = begin
        sizes[axis] = min(e for e in _edges(boxes, whole, axis) if e > begin) - begin
    return Flaw(Box(tuple(offsets), tuple(sizes)), left[first] + 1)


def _corners(box: Box, axes: list[int]) -> Iterable[tuple[tuple[int, ...], int]]:
    """Each corner in the given dimensions, with its sign."""
    edges = [((box.offsets[a], 1), (box.offsets[a] + box.sizes[a], -1)) for a in axes]
    for ends in product(*edges):
        sign = 1
        for _, one in ends:
            sign *= one
        yield tuple(place for place, _ in ends), sign


def _edges(boxes: Collection[Box], whole: Box, axis: int) -> Iterable[int]:
    """All places of one dimension where a box begins or ends."""
    for box in (*boxes, whole):
        yield box.offsets[axis]
        yield box.offsets[axis] + box.sizes[axis]
