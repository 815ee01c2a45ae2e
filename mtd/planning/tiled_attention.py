"""Attention that never holds the table of weights: one tile of queries after another.

    for each tile of queries    scores = tile @ keysᵀ · scale        (tile, keys that it may see)
                                output = softmax(scores) @ values    and log Σ exp(scores) is kept

The gradient makes the weights of each tile again, from the kept logarithms. So memory grows with the length, not
with its square, and what a causal mask hides is not computed. Dao et al., FlashAttention, arXiv:2205.14135, and
Dao, arXiv:2307.08691, which also cut the keys into tiles.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from minitorch_dist.nn import functional as F
from minitorch_dist.tensors import dtypes, flops
from minitorch_dist.tensors.autograd.joint import record_joint
from minitorch_dist.tensors.core.base import Array, T
from minitorch_dist.tensors.core.without_warnings import silent
from minitorch_dist.tensors.ops.layers.softmaxes import softmax_of
from minitorch_dist.tensors.shape_arrays.array import has_numbers

TILES = 16  # of queries, at most
FORWARD, BACKWARD = 2, 5  # products of queries and keys, or as large ones


def whole_attention(query: Any, key: Any, value: Any, dropout: float) -> Any:
    """The simple form, as before FlashAttention: all weights are written to memory, and some are dropped. Scaling, hiding and softmax are
    one pass over the scores, as in Megatron-LM's fused kernel."""
    scores = (query * query.shape[-1] ** -0.5) @ key.transpose(-2, -1)
    length, array = scores.shape[-1], scores.array
    later = np.triu(np.ones((length, length), bool), 1)
    weights = softmax_of(scores, np.where(later, array.dtype.type("-inf"), array), -1)
    return F.dropout(weights, dropout) @ value


@dataclass(frozen=True)
class AttentionTiles:
    """Which queries see which keys, tile by tile: all earlier ones, or all with `sees_all`. `kernel`: which FlashAttention a device
    takes for it, as one operation. `ranks`: those that the sequence is cut over."""

    kernel: str = "2"
    sees_all: bool = False
    ranks: int = 1

    def of(self, query: Array) -> Iterator[tuple[slice, slice]]:
        """The rows of each tile, and the keys that they see, of which the last one is that of the last row."""
        length = query.shape[-2]
        size = -(-length // TILES) or 1
        for start in range(0, length, size):
            rows = slice(start, min(start + size, length))
            yield rows, slice(0, length if self.sees_all else rows.stop)

    def in_order(self, array: Array) -> Array:
        """Keys or values (…, L, E) in the order of their positions."""
        return array

    def as_they_came(self, array: Array) -> Array:
        """The order back, for gradients."""
        return array

    def tell(self, products: int, out: Array) -> None:
        """Half of all pairs of a query and a key are hidden under a mask, and do not count."""
        if flops.counters.on:
            *rows, own, size = out.shape
            pairs = math.prod(rows) * own * own * self.ranks // (1 if self.sees_all else 2)
            sizes = flops.AttentionSizes(own * self.ranks, size, self.kernel)
            flops.done("aten._scaled_dot_product_flash_attention", 2 * products * pairs * size, sizes)


CAUSAL = AttentionTiles()


@silent
def tiled_attention(
    query: T, key: T, value: T, tiles: AttentionTiles = CAUSAL, known: tuple[Array, Array] | None = None
) -> T:
    """Attention of `query` (…, heads, L, E) to `key` and `value` (…, heads, L, E), whose heads several query heads may share.
    `known`: what `outputs` has found before, so that only the gradient is left to compute."""
    source = query.array.dtype
    groups, factor = _sizes(query, key)
    out, logs = outputs(query, key, value, tiles) if known is None else known

    def backward(grad: Array) -> list[Array | None]:
        q = query.array
        k, v = (_wide(tiles.in_order(each.array), groups) for each in (key, value))
        d_query = np.empty(q.shape, source, like=q)
        d_key, d_value = (np.zeros(k.shape, np.float32, like=k) for _ in range(2))
        for rows, seen in tiles.of(q) if has_numbers(q) else ():
            scores = _scores(q, k, rows, seen, factor, tiles.sees_all)
            weights = np.exp(scores - logs[..., rows, :])
            d_out, answer = _single(grad[..., rows, :]), _single(out[..., rows, :])
            d_value[..., seen, :] += _times(weights.swapaxes(-1, -2), d_out)
            d = _times(d_out, v[..., seen, :].swapaxes(-1, -2))
            d -= np.add.reduce(d_out * answer, axis=-1, keepdims=True)
            d *= weights
            d *= np.float32(factor)
            d_query[..., rows, :] = _times(d, k[..., seen, :])
            d_key[..., seen, :] += _times(d.swapaxes(-1, -2), _single(q[..., rows, :]))
        tiles.tell(BACKWARD, out)
        narrowed = (_narrow(tiles.as_they_came(each), groups) for each in (d_key, d_value))
        return [d_query, *(each.astype(source, copy=False) for each in narrowed)]

    name, reads = "ScaledDotProductFlashAttentionBackward0", [query, key, value]
    result: T = record_joint(out, name, reads, backward, reads=reads, reads_result=True)
    return result


@silent
def outputs(query: T, key: T, value: T, tiles: AttentionTiles) -> tuple[Array, Array]:
    """The result, and the logarithm of each row's sum. Where there are no numbers, nothing is written into them."""
    q = query.array
    groups, factor = _sizes(query, key)
    out = np.empty(q.shape, q.dtype, like=q)
    logs = np.empty((*q.shape[:-1], 1), np.float32, like=q)
    k, v = (_wide(tiles.in_order(each.array), groups) for each in (key, value))
    for rows, seen in tiles.of(q) if has_numbers(q) else ():
        scores = _scores(q, k, rows, seen, factor, tiles.sees_all)
        top = np.maximum.reduce(scores, axis=-1, keepdims=True)
        scores -= top
        np.exp(scores, out=scores)
        total = np.add.reduce(scores, axis=-1, keepdims=True)
        scores /= total
        out[..., rows, :] = _times(scores, v[..., seen, :])
        logs[..., rows, :] = top + np.log(total)
    tiles.tell(FORWARD, out)
    return out, logs


def _sizes(query: T, key: T) -> tuple[int, float]:
    """How many query heads share a key's, and the scale."""
    shape = query.array.shape
    return shape[-3] // key.array.shape[-3], 1 / math.sqrt(shape[-1])


def _scores(q: Array, k: Array, rows: slice, seen: slice, factor: float, sees_all: bool) -> Array:
    """The scores of some queries with the keys that they see; those behind a query's own are hidden."""
    scores = _times(_single(q[..., rows, :]) * np.float32(factor), k[..., seen, :].swapaxes(-1, -2))
    if not sees_all:
        count = rows.stop - rows.start
        hidden = ~np.tri(count, seen.stop, seen.stop - count, dtype=bool)
        np.copyto(scores, -np.inf, where=hidden)
    return scores


def _times(x: Array, y: Array) -> Array:
    out: Array = x @ y
    return out


def _single(array: Array) -> Array:
    return array.astype(np.float32) if array.dtype in dtypes.HALVES else array


def _wide(array: Array, groups: int) -> Array:
    """Each head of keys or values once for each query head that asks it."""
    return _single(array if groups == 1 else np.repeat(array, groups, -3))


def _narrow(grad: Array, groups: int) -> Array:
    """The gradient of a head of keys or values: the sum over the query heads that ask it."""
    if groups == 1:
        return grad
    shape: Any = grad.shape
    found: Array = grad.reshape(*shape[:-3], shape[-3] // groups, groups, *shape[-2:]).sum(-3)
    return found
