"""Differences of neighbours."""

from __future__ import annotations

import numpy as np

from minitorch_dist.tensors.core.base import Array, T
from minitorch_dist.tensors.core.graph import record
from minitorch_dist.tensors.core.operations import axis


def diff(input: T, n: int = 1, dim: int = -1) -> T:
    """Each element minus the one before it, n times over."""
    x = input.array
    along = axis(dim, x.ndim)
    n = min(n, x.shape[along])

    def backward(g: Array) -> Array:
        for _ in range(n):  # a difference takes from one neighbour what it gives to the other
            edge = np.zeros_like(g, shape=[*g.shape[:along], 1, *g.shape[along + 1 :]])
            g = -np.diff(np.concatenate([edge, g, edge], along), 1, along)
        return g

    return record(np.diff(x, n, along), "DiffBackward0", (input, backward))
