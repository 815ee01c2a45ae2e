"""Attention whose sequence is cut over ranks: context parallelism, as Llama 3 was trained with.

    C = 2 ranks, 4 chunks     rank 0   0 . . 3      rank r has the chunks r and 2C-1-r, so that all ranks have equally
                              rank 1   . 1 2 .      many pairs of a query and an earlier key

Keys and values of all ranks are gathered, and their gradients are summed and scattered. Queries stay where they are. Llama Team, The Llama 3
Herd of Models, arXiv:2407.21783, section 3.3.2.
"""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np

import minitorch_dist as torch
from minitorch_dist.distributed.groups import ProcessGroup
from minitorch_dist.distributed.tensor.parallel.activations import enter
from minitorch_dist.distributed.tensor.placements import Shard
from minitorch_dist.tensors.core.base import Array
from minitorch_dist.tensors.core.without_warnings import silent
from minitorch_dist.tensors.shape_arrays.array import has_numbers
from minitorch_dist.tensors.tensor import Tensor
from mtd.planning.tiled_attention import BACKWARD, FORWARD, narrow, recorded, told


def own_chunks(rank: int, count: int) -> tuple[int, int]:
    """The chunks of the sequence that a rank of `count` has."""
    return rank, 2 * count - 1 - rank


def own_part(x: Tensor, rank: int, count: int, axis: int) -> Tensor:
    """Its two chunks of a whole sequence, one behind the other."""
    chunks = x.chunk(2 * count, axis)
    return torch.cat([chunks[number] for number in own_chunks(rank, count)], axis)


def gathered(x: Tensor, group: ProcessGroup, length: int) -> Tensor:
    """Keys or values (rows, positions, heads, E) of all ranks, in the order of the ranks."""
    return enter(x, group, Shard(1), length)


@silent
def context_attention(query: Tensor, key: Tensor, value: Tensor, rank: int, count: int, kernel: str = "2") -> Tensor:
    """Causal attention of a rank's own queries (…, heads, L / count, E) to all keys and values (…, heads, L, E)."""
    q, k, v = (each.array for each in (query, key, value))
    groups, factor = q.shape[-3] // k.shape[-3], 1 / math.sqrt(q.shape[-1])
    size = q.shape[-2] // 2
    order = _in_order(size, count)
    wide = [np.repeat(each, groups, -3) if groups > 1 else each for each in (k, v)]
    keys, values = (each[..., order, :].astype(np.float32) for each in wide)
    queries = q.astype(np.float32)

    def parts() -> Iterator[tuple[slice, slice, Array]]:
        """Of each own chunk: its rows, the keys that it sees, and its weights."""
        for place, chunk in enumerate(own_chunks(rank, count)):
            rows, seen = slice(place * size, (place + 1) * size), slice(0, (chunk + 1) * size)
            scores = queries[..., rows, :] @ keys[..., seen, :].swapaxes(-1, -2) * factor
            if has_numbers(scores):
                hidden = ~np.tri(size, seen.stop, chunk * size, dtype=bool)
                np.copyto(scores, -np.inf, where=hidden)
            weights = np.exp(scores - np.maximum.reduce(scores, axis=-1, keepdims=True))
            yield rows, seen, weights / np.add.reduce(weights, axis=-1, keepdims=True)

    out = np.empty(q.shape, q.dtype, like=q)
    for rows, seen, weights in parts():
        out[..., rows, :] = weights @ values[..., seen, :]
    told(FORWARD, q, kernel, count)

    def backward(grad: Array) -> list[Array | None]:
        d_out, answer = grad.astype(np.float32), out.astype(np.float32)
        d_query = np.empty(q.shape, np.float32, like=q)
        d_keys, d_values = (np.zeros(keys.shape, np.float32, like=keys) for _ in range(2))
        for rows, seen, weights in parts():
            given = d_out[..., rows, :]
            d_values[..., seen, :] += weights.swapaxes(-1, -2) @ given
            d = given @ values[..., seen, :].swapaxes(-1, -2)
            d -= np.add.reduce(given * answer[..., rows, :], axis=-1, keepdims=True)
            d *= weights * factor
            d_query[..., rows, :] = d @ keys[..., seen, :]
            d_keys[..., seen, :] += d.swapaxes(-1, -2) @ queries[..., rows, :]
        told(BACKWARD, q, kernel, count)
        back = np.argsort(order)
        narrowed = [narrow(each[..., back, :], groups) for each in (d_keys, d_values)]
        return [d_query.astype(q.dtype), narrowed[0].astype(k.dtype), narrowed[1].astype(v.dtype)]

    return recorded(out, [query, key, value], backward)


def _in_order(size: int, count: int) -> Array:
    """Where each position of the sequence is among what was gathered by ranks."""
    chunks = [chunk for rank in range(count) for chunk in own_chunks(rank, count)]
    return (np.argsort(chunks)[:, None] * size + np.arange(size)).reshape(-1)
