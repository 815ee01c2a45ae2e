"""Double binary tree: two trees over the same ranks, so that every rank sends.

In one binary tree half of the ranks are leaves and send nothing down. Two trees in which the leaves
of one are inner nodes of the other, with half of the vector each, keep all ports busy:

    size 8      tree A:      0                      tree B (A mirrored):        7
                             │                                                  │
                             4                                                  3
                           ┌─┴─┐                                              ┌─┴─┐
                           2   6                                              5   1
                          1 3 5 7                                            6 4 2 0

Each half flows in `pieces` up its tree, added on the way, and down again. A rank whose lowest bit is
2^l is at height l, its children at rank ∓ 2^(l-1); rank 0 is the root. B is A mirrored (p even) or
shifted by one (p odd), as in NCCL.

                  rounds                   bytes a rank sends    total messages
    all_reduce    ≈ 2 lg p + a few         ≤ 2n                  4(p-1) per pair of chunks

Order of addition: own + left subtree + right subtree as they come up; piece by piece the same.

Source: P. Sanders, J. Speck, J. L. Träff, Two-tree algorithms for full bandwidth broadcast, reduction
and scan, Parallel Computing 35(12), 2009, doi:10.1016/j.parco.2009.09.001.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from minitorch_dist.distributed.schedules import powers
from minitorch_dist.distributed.schedules.schedule import schedule
from minitorch_dist.distributed.schedules.steps import Mask, Rank, Receive, Send, Steps
from minitorch_dist.tensors.core.base import Array


class BinaryTree:
    """Parent, children and height of each rank in one of the two trees (`second`: B)."""

    def __init__(self, rank: Rank, size: int, second: bool) -> None:
        self.size, self.second = size, second
        number = self._turned(rank) if second else rank + 0
        self.top = powers.rounds(size)  # the height of the root
        bit = np.where(number == 0, 1 << self.top, number & -number)
        self.height: Any = _log2(bit)
        self.is_root: Mask = np.equal(number, 0)  # of numpy, also for one rank: `~` of a bool is no negation
        parent = (number ^ bit) | (bit << 1)
        parent = np.where(parent >= size, number ^ bit, parent)
        self.parent_height: Any = np.where(parent == 0, self.top, _log2(parent & -parent))
        left = np.where(self.is_root, -1, np.where(bit > 1, number - bit // 2, -1))
        right = number + bit // 2
        for _ in range(self.top):  # beyond the edge: the next nearer one, down to none
            right = np.where(right >= size, number + (right - number) // 2, right)
        right = np.where((bit > 1) & (right != number) & (right < size), right, -1)
        self.children: list[tuple[Rank, Mask, Any]] = [
            (self._real(child), child >= 0, _log2(np.maximum(child & -child, 1))) for child in (left, right)
        ]
        self.parent: Rank = self._real(np.where(self.is_root, 0, parent))

    def _turned(self, rank: Rank) -> Any:
        return (rank - 1) % self.size if self.size % 2 else self.size - 1 - rank

    def _real(self, number: Array) -> Any:
        if not self.second:
            return number
        return (number + 1) % self.size if self.size % 2 else self.size - 1 - number


def _log2(power: Any) -> Any:
    return np.round(np.log2(np.maximum(power, 1))).astype(np.int64)


def two_per_piece(size: int, pieces: int) -> int:
    return 2 * pieces


@schedule(chunks=two_per_piece, pieces=4)
def all_reduce(rank: Rank, size: int, pieces: int = 4) -> Steps:
    trees = [BinaryTree(rank, size, second) for second in (False, True)]
    top = trees[0].top
    for time in range(2 * top + pieces - 1 if size > 1 else 0):
        for half, tree in enumerate(trees):
            yield from _up(tree, time, half * pieces, pieces)
        for half, tree in enumerate(trees):
            yield from _down(tree, time - top, half * pieces, pieces)


def _within(piece: Any, pieces: int) -> Mask:
    return (piece >= 0) & (piece < pieces)


def _up(tree: BinaryTree, time: int, first: int, pieces: int) -> Steps:
    """At height l, piece `time - l` is complete from below and goes to the parent."""
    piece = time - tree.height
    yield Send(tree.parent, first + piece, only=_within(piece, pieces) & ~tree.is_root)
    for child, exists, height in tree.children:
        piece = time - height
        yield Receive(child, first + piece, reduce=True, only=_within(piece, pieces) & exists)


def _down(tree: BinaryTree, time: int, first: int, pieces: int) -> Steps:
    """The root sends piece `time` to its children; one height further down is one time later."""
    piece = time - (tree.top - tree.height)
    for child, exists, _ in tree.children:
        yield Send(child, first + piece, only=_within(piece, pieces) & exists)
    piece = time - (tree.top - tree.parent_height)
    yield Receive(tree.parent, first + piece, only=_within(piece, pieces) & ~tree.is_root)
