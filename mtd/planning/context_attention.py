"""Attention whose sequence is cut over ranks: context parallelism, as Llama 3 was trained with.

    C = 2 ranks, 4 chunks     rank 0   0 . . 3      rank r has the chunks r and 2C-1-r, so that all ranks have equally
                              rank 1   . 1 2 .      many pairs of a query and an earlier key

Keys and values of all ranks are gathered, and their gradients are summed and scattered. Queries stay where they are. Llama Team, The Llama 3
Herd of Models, arXiv:2407.21783, section 3.3.2.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

import minitorch_dist as torch
from minitorch_dist.tensors.core.base import Array
from minitorch_dist.tensors.tensor import Tensor
from mtd.planning.tiled_attention import AttentionTiles


def own_chunks(rank: int, count: int) -> tuple[int, int]:
    """The chunks of the sequence that a rank of `count` has."""
    return rank, 2 * count - 1 - rank


def own_part(x: Tensor, rank: int, count: int, axis: int) -> Tensor:
    """Its two chunks of a whole sequence, one behind the other."""
    chunks = x.chunk(2 * count, axis)
    return torch.cat([chunks[number] for number in own_chunks(rank, count)], axis)


@dataclass(frozen=True)
class ContextTiles(AttentionTiles):
    """Causal attention of a rank's own queries to the keys and values of all ranks, which come in the order of the ranks."""

    rank: int = 0

    def of(self, query: Array) -> Iterator[tuple[slice, slice]]:
        size = query.shape[-2] // 2
        for place, chunk in enumerate(own_chunks(self.rank, self.ranks)):
            yield slice(place * size, (place + 1) * size), slice(0, (chunk + 1) * size)

    def in_order(self, array: Array) -> Array:
        return self._moved(array, np.argsort)

    def as_they_came(self, array: Array) -> Array:
        return self._moved(array, np.array)

    def _moved(self, array: Array, order_of: Any) -> Array:
        """Chunk by chunk."""
        chunks = [chunk for rank in range(self.ranks) for chunk in own_chunks(rank, self.ranks)]
        parts = np.split(array, len(chunks), -2)
        return np.concatenate([parts[number] for number in order_of(chunks)], -2)
