"""The memory that torch's caching allocator reserves, by the arrays that a device's ledger enters and crosses out.

    an array is made   ──► the smallest free block that is large enough; what is left of it stays free
                           none: a new segment of the device
    an array is freed  ──► its block joins free neighbours in its segment; the segment is kept

Segments are never given back, so a device reserves more than its arrays ever held at once. torch's tools tell reserved memory. Sizes
are rounded as in torch's CUDACachingAllocator: to 512 bytes; arrays up to 1 MiB share segments of 2 MiB, others up to 10 MiB
segments of 20 MiB; larger ones get segments of their own, rounded to 2 MiB.
"""

from __future__ import annotations

from bisect import bisect_left, insort
from typing import Final

from minitorch_dist.tensors import ledger

MiB: Final = 1 << 20
ROUND: Final = 512
SMALL, SMALL_SEGMENT = MiB, 2 * MiB
MEDIUM, MEDIUM_SEGMENT = 10 * MiB, 20 * MiB
Place = tuple[int, int]  # a segment, and where in it


class CachingAllocator:
    """Of one device. `reserved` are the bytes of all segments."""

    def __init__(self) -> None:
        self.reserved = 0
        self._sizes: dict[Place, int] = {}  # of all blocks
        self._free: dict[bool, list[tuple[int, Place]]] = {True: [], False: []}  # by whether small
        self._ends: dict[Place, Place] = {}  # of free blocks: by where they end, where they begin
        self._held: dict[int, Place] = {}  # by array
        self._segments: list[bool] = []  # whether each is of small arrays

    @classmethod
    def of(cls, book: ledger.Ledger) -> CachingAllocator:
        """That of a device, from now on. The arrays that it holds are taken as made now."""
        made = book.allocator = cls()
        for entry in book.entries():
            made.take(entry.key, entry.nbytes)
        return made

    def take(self, key: int, nbytes: int) -> None:
        """An array with this key."""
        size = max(ROUND, -(-nbytes // ROUND) * ROUND)
        is_small = size <= SMALL
        free = self._free[is_small]
        at = bisect_left(free, (size, (-1, -1)))
        if at == len(free):
            self._reserve(size, is_small)
            at = bisect_left(free, (size, (-1, -1)))
        whole, place = free[at]
        self._remove(place, whole, is_small)
        left = whole - size
        if left >= (ROUND if is_small else SMALL + 1):
            self._add((place[0], place[1] + size), left, is_small)
        else:
            size = whole
        self._sizes[place] = size
        self._held[key] = place

    def give(self, key: int) -> None:
        place = self._held.pop(key, None)
        if place is None:
            return
        size, is_small = self._sizes.pop(place), self._segments[place[0]]
        after = place[0], place[1] + size
        if after in self._sizes and self._is_free(after):
            more = self._sizes[after]
            self._remove(after, more, is_small)
            size += more
        before = self._ends.get(place)
        if before is not None:
            less = self._sizes[before]
            self._remove(before, less, is_small)
            place, size = before, size + less
        self._add(place, size, is_small)

    def _is_free(self, place: Place) -> bool:
        return self._ends.get((place[0], place[1] + self._sizes[place])) == place

    def _add(self, place: Place, size: int, is_small: bool) -> None:
        self._sizes[place] = size
        self._ends[place[0], place[1] + size] = place
        insort(self._free[is_small], (size, place))

    def _remove(self, place: Place, size: int, is_small: bool) -> None:
        del self._sizes[place], self._ends[place[0], place[1] + size]
        free = self._free[is_small]
        del free[bisect_left(free, (size, place))]

    def _reserve(self, size: int, is_small: bool) -> None:
        if is_small:
            length = SMALL_SEGMENT
        elif size < MEDIUM:
            length = MEDIUM_SEGMENT
        else:
            length = -(-size // SMALL_SEGMENT) * SMALL_SEGMENT
        self.reserved += length
        self._segments.append(is_small)
        self._add((len(self._segments) - 1, 0), length, is_small)

    def __repr__(self) -> str:
        return f"<CachingAllocator: {self.reserved:,} bytes in {len(self._segments)} segments>"
