"""Attention: every position asks all others, and averages what they hold by how well they match.

    weights = softmax(query @ keyᵀ · scale + mask)        (…, L, S)
    output  = dropout(weights) @ value                    (…, L, E)

One recorded operation, because its gradient only needs the weights: with d = output's gradient,

    d value  = weightsᵀ @ d            d weights = d @ valueᵀ
    d scores = weights · (d weights - Σ weights · d weights)
    d query  = d scores @ key · scale  d key = d scoresᵀ @ query · scale
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from minitorch_dist.tensors import distributions, flops, generator
from minitorch_dist.tensors.core import dtypes
from minitorch_dist.tensors.core.base import Array, T, TensorBase
from minitorch_dist.tensors.core.joint import record_joint, wants
from minitorch_dist.tensors.core.operations import sum_to
from minitorch_dist.tensors.core.promotion import broadcast_error
from minitorch_dist.tensors.core.without_warnings import silent
from minitorch_dist.tensors.ops import autocasting


@autocasting.lower
@silent
def scaled_dot_product_attention(
    query: T,
    key: T,
    value: T,
    attn_mask: T | None = None,
    dropout_p: float = 0.0,
    is_causal: bool = False,
    scale: float | None = None,
    enable_gqa: bool = False,
) -> T:
    """Attention of `query` (…, L, E) to `key` (…, S, E) and `value` (…, S, V).

    `attn_mask` (broadcast to (…, L, S)) is True where a position may be seen, or a number to add to
    the score. `is_causal` lets position i see only positions up to i. `enable_gqa` lets several
    query heads (dimension -3) share one head of key and value.
    """
    _check(query, key, value, attn_mask, is_causal)
    q, k, v = query.array, key.array, value.array
    source = q.dtype
    if source in dtypes.HALVES:
        q, k, v = q.astype(np.float32), k.astype(np.float32), v.astype(np.float32)
    groups = 1
    if enable_gqa and q.shape[-3] != k.shape[-3]:
        groups = q.shape[-3] // k.shape[-3]
        if groups * k.shape[-3] != q.shape[-3]:
            raise RuntimeError(
                f"enable_gqa: the number of query heads ({q.shape[-3]}) must be a multiple of the "
                f"number of key and value heads ({k.shape[-3]})"
            )
        k, v = np.repeat(k, groups, -3), np.repeat(v, groups, -3)
    factor = q.dtype.type(1 / math.sqrt(q.shape[-1]) if scale is None else scale)

    try:
        scores = _times(q * factor, k.swapaxes(-1, -2))
    except ValueError:
        raise broadcast_error(q.shape[:-2], k.shape[:-2]) from None
    hidden: Array | None = None
    if is_causal:
        hidden = ~np.tri(q.shape[-2], k.shape[-2], dtype=bool)
    elif attn_mask is not None and attn_mask.array.dtype.kind == "b":
        hidden = ~attn_mask.array
    elif attn_mask is not None:
        scores = scores + attn_mask.array.astype(scores.dtype, copy=False)
    if hidden is not None:
        np.copyto(scores, -np.inf, where=hidden)
    weights = softmax_in_place(scores)
    kept: Array | None = None
    boost = weights.dtype.type(1 / (1 - dropout_p) if dropout_p < 1 else 0)
    if dropout_p > 0.0:
        kept = distributions.keep(1 - dropout_p, weights.shape, generator.current(), weights)

    def thinned(array: Array) -> Array:
        """The rest that dropout leaves of `array`."""
        return array if kept is None else array * kept * boost

    out = _times(thinned(weights), v)

    inputs: list[Any] = [query, key, value]
    if attn_mask is not None and attn_mask.array.dtype.kind != "b":
        inputs.append(attn_mask)
    want_q, want_k, want_v, *want_mask = wants(*inputs)
    count, (_, like_k, like_v) = len(inputs), (t.array.shape for t in inputs[:3])
    like_mask = (inputs[-1].array.shape, inputs[-1].array.dtype)

    def backward(grad: Array) -> list[Array | None]:
        found: list[Array | None] = [None] * count
        grad = grad.astype(out.dtype, copy=False)
        if want_v:
            d_value = _times(thinned(weights).swapaxes(-1, -2), grad)
            found[2] = _shared(d_value, groups, like_v).astype(source, copy=False)
        if want_q or want_k or any(want_mask):
            d = thinned(_times(grad, v.swapaxes(-1, -2)))
            d *= weights
            d -= weights * np.add.reduce(d, axis=-1, keepdims=True)
            if any(want_mask):
                found[3] = sum_to(d, like_mask[0]).astype(like_mask[1], copy=False)
            if want_q or want_k:
                d *= factor
            if want_q:
                found[0] = sum_to(_times(d, k), q.shape).astype(source, copy=False)
            if want_k:
                d_key = _times(d.swapaxes(-1, -2), q)
                found[1] = _shared(d_key, groups, like_k).astype(source, copy=False)
        return found

    result: T = record_joint(
        out.astype(source, copy=False), "ScaledDotProductAttentionBackward0", inputs, backward,
        reads=[query, key, value],
    )  # fmt: skip
    return result


def _times(x: Array, y: Array) -> Array:
    out: Array = x @ y
    if flops.on:
        flops.multiplied("aten.scaled_dot_product_attention", out.shape, x.shape[-1])
    return out


def softmax_in_place(scores: Array) -> Array:
    """softmax over the last axis, overwriting `scores`; a row that sees nothing is all zeros."""
    top = np.maximum.reduce(scores, axis=-1, keepdims=True) if scores.shape[-1] else scores
    if top.size:
        top = np.where(np.isneginf(top), 0, top)
    scores -= top
    np.exp(scores, out=scores)
    total = np.add.reduce(scores, axis=-1, keepdims=True)
    scores /= np.where(total == 0, 1, total)
    return scores


def _shared(grad: Array, groups: int, like: tuple[int, ...]) -> Array:
    """The gradient of a key or value: added up over the query heads that shared it."""
    if groups > 1:
        shape = grad.shape
        split = (*shape[:-3], shape[-3] // groups, groups, *shape[-2:])
        grad = grad.reshape(split).sum(-3)
    return sum_to(grad, like)


def _check(
    query: TensorBase, key: TensorBase, value: TensorBase, mask: TensorBase | None, causal: bool
) -> None:
    tensors = (query, key, value)
    if min(t.array.ndim for t in tensors) < 2:
        raise RuntimeError(
            "scaled_dot_product_attention: expected query, key and value of at least 2 dimensions, "
            f"got {', '.join(str(list(t.array.shape)) for t in tensors)}"
        )
    if len({t.array.dtype for t in tensors}) > 1:
        raise RuntimeError(
            "Expected query, key, and value to have the same dtype, but got query.dtype: "
            f"{query.dtype} key.dtype: {key.dtype} and value.dtype: {value.dtype} instead."
        )
    if causal and mask is not None:
        raise RuntimeError(
            "_scaled_dot_product_attention: Explicit attn_mask should not be set when is_causal=True"
        )
    if query.array.shape[-1] != key.array.shape[-1] or key.array.shape[-2] != value.array.shape[-2]:
        raise RuntimeError(
            "query and key need equal sizes in their last dimension, key and value in their "
            f"last but one: got {list(query.array.shape)}, {list(key.array.shape)}, "
            f"{list(value.array.shape)}"
        )
