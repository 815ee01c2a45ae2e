"""Whether boxes cover a tensor exactly once; where they do not, which part, and how often.

Each box is counted at its corners only: +1 where it begins, -1 where it ends, and in more dimensions the product of these.
Sums over all corners before a place say how many boxes hold the place:

    boxes      ├───────┤ ├───┤          0-4 and 5-7 of 8 elements
    corners    +1      -1+1  -1
    sums       1        0 1   0         so elements 4:5 and 7:8 are in none of them

Every box is looked at once, however many there are, and however large the tensor is.
"""

from __future__ import annotations

from collections.abc import Collection
from itertools import product
from math import prod
from typing import Any, Final, NamedTuple

import numpy as np

from minitorch_dist.distributed.checkpoint.pieces import Box

MOST_CUTS: Final = 8  # dimensions that may be cut: a box has 2**8 corners then
MOST_CELLS: Final = 1 << 24


class Flaw(NamedTuple):
    """A part of a tensor that is not covered exactly once."""

    part: Box
    times: int  # how many boxes hold it

    def __str__(self) -> str:
        where = ", ".join(f"{o}:{o + n}" for o, n in zip(self.part.offsets, self.part.sizes, strict=True))
        what = f"elements [{where}]" if where else "the only element"
        return f"{what} {'are' if where else 'is'} in {self.times or 'none'} of them, not in one"


def flaw(shape: tuple[int, ...], boxes: Collection[Box]) -> Flaw | None:
    """The first part that is not covered exactly once; None if all is well. Boxes lie within the shape;
    ValueError if they cut it in more than MOST_CUTS dimensions, or into more than MOST_CELLS parts."""
    edges = [
        sorted({0, n, *(b.offsets[axis] for b in boxes), *(b.offsets[axis] + b.sizes[axis] for b in boxes)})
        for axis, n in enumerate(shape)
    ]
    cuts = [axis for axis, places in enumerate(edges) if len(places) > 2]
    if len(cuts) > MOST_CUTS:
        raise ValueError(f"they are cut in {len(cuts)} dimensions, and at most {MOST_CUTS} can be")
    if prod(len(edges[axis]) for axis in cuts) > MOST_CELLS:
        raise ValueError(f"they cut it into more than {MOST_CELLS} parts")
    if 0 in shape:
        return None
    times = _times(edges, cuts, [box for box in boxes if box.count])
    found = np.argwhere(times != 1)
    if len(found) == 0:
        return None
    at = dict(zip(cuts, found[0].tolist(), strict=True))
    begin = tuple(places[at.get(axis, 0)] for axis, places in enumerate(edges))
    end = (places[at.get(axis, 0) + 1] for axis, places in enumerate(edges))
    part = Box(begin, tuple(e - b for b, e in zip(begin, end, strict=True)))
    return Flaw(part, int(times[tuple(found[0])]))


def _times(edges: list[list[int]], cuts: list[int], boxes: Collection[Box]) -> Any:
    """How many boxes hold each part between two neighbouring edges, in the dimensions that are cut."""
    number = {axis: {place: n for n, place in enumerate(edges[axis])} for axis in cuts}
    times = np.zeros([len(edges[axis]) for axis in cuts], np.int64)
    for box in boxes:
        for ends in product((0, 1), repeat=len(cuts)):
            corner = (number[a][box.offsets[a] + e * box.sizes[a]] for a, e in zip(cuts, ends, strict=True))
            times[tuple(corner)] += (-1) ** sum(ends)
    for axis in range(len(cuts)):
        times = np.cumsum(times, axis)
    return times[(slice(-1),) * len(cuts)]
