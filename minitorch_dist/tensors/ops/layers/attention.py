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

from minitorch_dist.tensors import distributions, dtypes, flops, generator
from minitorch_dist.tensors.autograd.joint import record_joint, wants
from minitorch_dist.tensors.core.base import Array, T, TensorBase
from minitorch_dist.tensors.core.operations import sum_to
from minitorch_dist.tensors.ops import autocasting


@autocasting.lower
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
    """Attention of `query` (…, L, E) to `key` (…, S, E) and `value` (…, S, V). A query that may see nothing gets zeros.

    Args:
        query: Vectors that ask.
        key: Vectors that are compared with it.
        value: Vectors that are averaged.
        attn_mask: Broadcast to (…, L, S): True where a position may be seen, or a number to add to the score.
        dropout_p: The probability with which a weight is dropped.
        is_causal: Position i sees only positions up to i.
        scale: The factor of scores; 1/√E by default.
        enable_gqa: Several query heads (dimension -3) share one head of key and value.

    Returns:
        (…, L, V).

    Example:
        >>> F.scaled_dot_product_attention(torch.ones(1, 2, 4), torch.ones(1, 3, 4), torch.ones(1, 3, 5)).shape
        torch.Size([1, 2, 5])
    """
    _check(query, key, value, attn_mask, dropout_p, is_causal)
    q, k, v = query.array, key.array, value.array
    source = q.dtype
    if source in dtypes.HALVES:
        q, k, v = q.astype(np.float32), k.astype(np.float32), v.astype(np.float32)
    groups_k, groups_v = _sharing(q, k, enable_gqa), _sharing(q, v, enable_gqa)
    k, v = _repeated(k, groups_k), _repeated(v, groups_v)
    _check_shapes(q, k, v, attn_mask)
    if 0 in (*q.shape[:-1], *k.shape[:-1], *v.shape):
        attn_mask = None  # nothing to hide: torch then gives the mask no gradient
    factor = q.dtype.type(1 / math.sqrt(q.shape[-1] or 1) if scale is None else scale)
    scores = _times(q * factor, k.swapaxes(-1, -2))
    if is_causal:
        np.copyto(scores, -np.inf, where=~np.tri(q.shape[-2], k.shape[-2], dtype=bool))
    elif attn_mask is not None:
        scores += _numbers_to_add(attn_mask.array, scores.dtype)
    weights = _softmax_in_place(scores)
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
            found[2] = _shared(d_value, groups_v, like_v).astype(source, copy=False)
        if want_q or want_k or any(want_mask):
            d = thinned(_times(grad, v.swapaxes(-1, -2)))
            d *= weights
            d -= weights * np.add.reduce(d, axis=-1, keepdims=True)
            if any(want_mask):
                found[3] = sum_to(d, like_mask[0]).astype(like_mask[1])  # a copy: d is scaled below
            if want_q or want_k:
                d *= factor
            if want_q:
                found[0] = sum_to(_times(d, k), q.shape).astype(source, copy=False)
            if want_k:
                d_key = _times(d.swapaxes(-1, -2), q)
                found[1] = _shared(d_key, groups_k, like_k).astype(source, copy=False)
        return found

    result: T = record_joint(
        out.astype(source, copy=False),
        "ScaledDotProductAttentionBackward0",
        inputs,
        backward,
        reads=inputs if any(want_mask) else inputs[:3],
    )
    return result


# ------------------------------------------------------------------------------------------- checks


def _check(q: Any, k: Any, v: Any, mask: Any, dropout_p: float, causal: bool) -> None:
    """Ranks and types."""
    for given in (q, k, v):
        if not isinstance(given, TensorBase) or given.array.ndim < 2:
            raise RuntimeError(f"query, key and value must be tensors of at least 2 dimensions, not {given!r}")
    kinds = [t.array.dtype for t in (q, k, v)]
    if len(set(kinds)) > 1 or kinds[0].kind in "iubc":
        raise RuntimeError(f"query, key and value must have one floating dtype, but have {', '.join(map(str, kinds))}")
    if mask is not None and mask.array.dtype not in (np.bool_, np.float32, kinds[0]):
        raise RuntimeError(f"attn_mask must be bool, float32 or {kinds[0]} as the query, but is {mask.dtype}")
    if causal and mask is not None:
        raise RuntimeError("Explicit attn_mask should not be set when is_causal=True")
    if not 0 <= dropout_p <= 1:
        raise RuntimeError(f"dropout probability has to be between 0 and 1, but got {dropout_p:g}")


def _check_shapes(q: Array, k: Array, v: Array, mask: TensorBase | None) -> None:
    """The two products are possible, and the mask fits the table of scores without making it larger."""
    fits = q.shape[-1] == k.shape[-1] and k.shape[-2] == v.shape[-2]
    try:
        scores = (*np.broadcast_shapes(q.shape[:-2], k.shape[:-2]), q.shape[-2], k.shape[-2])
        np.broadcast_shapes(scores[:-2], v.shape[:-2])
        fits = fits and (mask is None or np.broadcast_shapes(scores, mask.array.shape) == scores)
    except ValueError:
        fits = False
    if not fits:
        arrays = (q, k, v) if mask is None else (q, k, v, mask.array)
        shapes = ", ".join(str(list(array.shape)) for array in arrays)
        raise RuntimeError(f"{shapes} do not fit: they are (…, L, E), (…, S, E), (…, S, V), and a mask (…, L, S)")


def _sharing(query: Array, other: Array, enable_gqa: bool) -> int:
    """How many query heads (dimension -3) share one head of a key or a value."""
    if not enable_gqa or query.shape[-3] == other.shape[-3]:
        return 1
    heads, own = query.shape[-3], other.shape[-3]
    if own == 0 or heads % own:
        raise RuntimeError(f"{own} heads of a key or a value do not divide {heads} heads of the query")
    return int(heads // own)


# --------------------------------------------------------------------------------------- arithmetic


def _times(x: Array, y: Array) -> Array:
    out: Array = x @ y
    if flops.counters.on:
        flops.multiplied("aten.scaled_dot_product_attention", out.shape, x.shape[-1])
    return out


def _softmax_in_place(scores: Array) -> Array:
    """softmax over the last axis, overwriting `scores`; a row that sees nothing is all zeros."""
    top = np.maximum.reduce(scores, axis=-1, keepdims=True) if scores.shape[-1] else scores
    if top.size:
        top = np.where(np.isneginf(top), 0, top)
    scores -= top
    np.exp(scores, out=scores)
    total = np.add.reduce(scores, axis=-1, keepdims=True)
    scores /= np.where(total == 0, 1, total)
    return scores


def _numbers_to_add(mask: Array, dtype: Any) -> Array:
    """A mask as what is added to scores: -inf where a bool is False."""
    if mask.dtype.kind == "b":
        return np.asanyarray(np.where(mask, dtype.type(0), dtype.type(-np.inf)))
    return np.asanyarray(mask, dtype)


def _repeated(array: Array, groups: int) -> Array:
    """Each head of a key or value, once for each query head that shares it."""
    return array if groups == 1 else np.repeat(array, groups, -3)


def _shared(grad: Array, groups: int, like: tuple[int, ...]) -> Array:
    """The gradient of a key or value: added up over the query heads that shared it."""
    if groups != 1:
        split = (*grad.shape[:-3], like[-3], groups, *grad.shape[-2:])
        grad = grad.reshape(split).sum(-3)
    return sum_to(grad, like)
