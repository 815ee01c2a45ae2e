"""The parts of a checkpoint: boxes of tensors, and the rank that writes each.

A rank has a *box* of a tensor: where it begins and how long it is, in each dimension. A tensor that
every rank has whole is one box, written once. On loading, a rank that needs a box takes the overlapping parts
of the boxes that were saved; so a checkpoint of 4 ranks is loaded by 2, 3 or 1. Pure arithmetic.

    saved      │ 0: rows 0-1 │ 1: rows 2-3 │ 2: rows 4-5 │ 3: row 6 │
    wanted     │ 0: rows 0-2      │ 1: rows 3-5     │ 2: row 6      │
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import prod
from typing import NamedTuple


class Box(NamedTuple):
    """A part of a tensor."""

    offsets: tuple[int, ...]
    sizes: tuple[int, ...]

    @property
    def count(self) -> int:  # type: ignore[override]
        return prod(self.sizes)


class About(NamedTuple):
    """A tensor as a whole, and the box of it that a rank has."""

    shape: tuple[int, ...]
    dtype: str
    box: Box
    nbytes: int


def overlap(one: Box, other: Box) -> Box | None:
    """The common part of both; None if there is none."""
    offsets, sizes = [], []
    for a, m, b, n in zip(one.offsets, one.sizes, other.offsets, other.sizes, strict=True):
        start, stop = max(a, b), min(a + m, b + n)
        if start >= stop:
            return None
        offsets.append(start)
        sizes.append(stop - start)
    return Box(tuple(offsets), tuple(sizes))


def within(part: Box, whole: Box) -> tuple[slice, ...]:
    """Where `part` lies in an array that holds `whole`."""
    return tuple(slice(p - w, p - w + n) for p, w, n in zip(part.offsets, whole.offsets, part.sizes, strict=True))


Tables = Sequence[Mapping[str, About]]  # what each rank has, by name


def writers(tables: Tables) -> list[dict[str, Box]]:
    """For each rank what it writes: every box once, by the rank that has least to write so far."""
    owners: dict[tuple[str, Box], list[int]] = {}
    for rank, table in enumerate(tables):
        for name, about in table.items():
            owners.setdefault((name, about.box), []).append(rank)
    load = [0] * len(tables)
    found: list[dict[str, Box]] = [{} for _ in tables]
    by_size = sorted(owners.items(), key=lambda item: -tables[item[1][0]][item[0][0]].nbytes)
    for (name, box), ranks in by_size:
        rank = min(ranks, key=lambda r: (load[r], r))
        found[rank][name] = box
        load[rank] += tables[rank][name].nbytes
    return found


def contradictions(tables: Tables) -> list[str]:
    """Tensors of one name that cannot be parts of one tensor, in words."""
    first: dict[str, tuple[int, About]] = {}
    found = []
    for rank, table in enumerate(tables):
        for name, about in table.items():
            at, other = first.setdefault(name, (rank, about))
            if (about.shape, about.dtype) != (other.shape, other.dtype):
                found.append(
                    f"{name} is {about.dtype}{list(about.shape)} on rank {rank} and "
                    f"{other.dtype}{list(other.shape)} on rank {at}"
                )
    return found
