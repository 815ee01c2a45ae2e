"""Attention that never holds the table of weights: one tile of queries after another.

    for each tile of queries    scores = tile @ keysᵀ · scale        (tile, keys that it may see)
                                output = softmax(scores) @ values    and log Σ exp(scores) is kept

The gradient makes the weights of each tile again, from the kept logarithms. So memory grows with the length, not
with its square, and what a causal mask hides is not computed. Dao et al., FlashAttention, arXiv:2205.14135, and
Dao, arXiv:2307.08691, which also cut the keys into tiles. `scaled_dot_product_attention` is the simple form.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from minitorch_dist.tensors import dtypes, flops
from minitorch_dist.tensors.autograd.joint import record_joint
from minitorch_dist.tensors.core.base import Array, T
from minitorch_dist.tensors.core.without_warnings import silent
from minitorch_dist.tensors.shape_arrays.array import has_numbers

TILES = 16  # of queries, at most
FORWARD, BACKWARD = 2, 5  # products of queries and keys, or as large ones


@silent
def tiled_attention(
    query: T, key: T, value: T, known: tuple[Array, Array] | None = None, kernel: str = "2", sees_all: bool = False
) -> T:
    """Causal attention, or with `sees_all` that of all pairs, of `query` (…, heads, L, E) to `key` and `value` (…, heads, L, E), whose heads several query
    heads may share. `known`: what `outputs` has found before, so that only the gradient is left to compute. `kernel`: which
    FlashAttention a device takes for it, as one operation."""
    source = query.array.dtype
    groups, factor, length = _sizes(query, key)
    out, logs = outputs(query, key, value, kernel, sees_all) if known is None else known

    def backward(grad: Array) -> list[Array | None]:
        own = [read.array for read in (query, key, value)]
        q, k, v = own[0], _wide(own[1], groups), _wide(own[2], groups)
        d_query = np.empty(q.shape, source, like=q)
        d_key, d_value = (np.zeros(k.shape, np.float32, like=k) for _ in range(2))
        for rows in _tiles(length, q):
            seen = slice(0, length if sees_all else rows.stop)
            weights = np.exp(_scores(q, k, rows, seen, factor) - logs[..., rows, :])
            d_out, answer = _single(grad[..., rows, :]), _single(out[..., rows, :])
            d_value[..., seen, :] += _times(weights.swapaxes(-1, -2), d_out)
            d = _times(d_out, v[..., seen, :].swapaxes(-1, -2))
            d -= np.add.reduce(d_out * answer, axis=-1, keepdims=True)
            d *= weights
            d *= np.float32(factor)
            d_query[..., rows, :] = _times(d, k[..., seen, :])
            d_key[..., seen, :] += _times(d.swapaxes(-1, -2), _single(q[..., rows, :]))
        told(BACKWARD, out, kernel, 1, sees_all)
        narrowed = (narrow(each, groups) for each in (d_key, d_value))
        return [d_query, *(each.astype(source, copy=False) for each in narrowed)]

    return recorded(out, [query, key, value], backward)


def recorded(out: Array, reads: list[T], backward: Callable[[Array], list[Array | None]]) -> T:
    name = "ScaledDotProductFlashAttentionBackward0"
    result: T = record_joint(out, name, reads, backward, reads=reads, reads_result=True)
    return result


@silent
def outputs(query: T, key: T, value: T, kernel: str = "2", sees_all: bool = False) -> tuple[Array, Array]:
    """The result, and the logarithm of each row's sum."""
    q = query.array
    groups, factor, length = _sizes(query, key)
    out = np.empty(q.shape, q.dtype, like=q)
    logs = np.empty((*q.shape[:-1], 1), np.float32, like=q)
    k, v = (_wide(each.array, groups) for each in (key, value))
    for rows in _tiles(length, q):
        seen = slice(0, length if sees_all else rows.stop)
        scores = _scores(q, k, rows, seen, factor)
        top = np.maximum.reduce(scores, axis=-1, keepdims=True)
        scores -= top
        np.exp(scores, out=scores)
        total = np.add.reduce(scores, axis=-1, keepdims=True)
        scores /= total
        out[..., rows, :] = _times(scores, v[..., seen, :])
        logs[..., rows, :] = top + np.log(total)
    told(FORWARD, out, kernel, 1, sees_all)
    return out, logs


def told(products: int, out: Array, kernel: str, ranks: int = 1, sees_all: bool = False) -> None:
    """Half of all pairs of a query and a key are hidden under a mask, and do not count. `ranks`: those that the sequence is cut over."""
    if flops.counters.on:
        *rows, own, size = out.shape
        pairs = math.prod(rows) * own * own * ranks // (1 if sees_all else 2)
        sizes = flops.AttentionSizes(own * ranks, size, kernel)
        flops.done("aten._scaled_dot_product_flash_attention", 2 * products * pairs * size, sizes)


def _sizes(query: T, key: T) -> tuple[int, float, int]:
    """How many query heads share a key's, the scale, and the length."""
    shape = query.array.shape
    return shape[-3] // key.array.shape[-3], 1 / math.sqrt(shape[-1]), shape[-2]


def _tiles(length: int, query: Array) -> Iterator[slice]:
    """None where there are no numbers, for nothing would be written into the result."""
    if not has_numbers(query):
        return
    size = -(-length // TILES) or 1
    for start in range(0, length, size):
        yield slice(start, min(start + size, length))


def _scores(q: Array, k: Array, rows: slice, seen: slice, factor: float) -> Array:
    """The scores of some queries with all keys that they may see: later ones where `seen` goes beyond the queries."""
    scores = _times(_single(q[..., rows, :]) * np.float32(factor), k[..., seen, :].swapaxes(-1, -2))
    if has_numbers(scores) and seen.stop == rows.stop:
        hidden = ~np.tri(rows.stop - rows.start, rows.stop, rows.start, dtype=bool)
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


def narrow(grad: Array, groups: int) -> Array:
    """The gradient of a head of keys or values: the sum over the query heads that ask it."""
    if groups == 1:
        return grad
    shape: Any = grad.shape
    found: Array = grad.reshape(*shape[:-3], shape[-3] // groups, groups, *shape[-2:]).sum(-3)
    return found
