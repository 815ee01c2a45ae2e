"""Attention with several heads: project, split into heads, attend in each, join, project back."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from minitorch_dist.tensors.core import base
from minitorch_dist.tensors.core.base import T
from minitorch_dist.tensors.core.operations import add, mul
from minitorch_dist.tensors.ops import autocasting
from minitorch_dist.tensors.ops.along_axes.reductions import mean
from minitorch_dist.tensors.ops.layers.attention import scaled_dot_product_attention
from minitorch_dist.tensors.ops.layers.dropout import dropout
from minitorch_dist.tensors.ops.layers.linear import linear
from minitorch_dist.tensors.ops.layers.multihead_checks import (
    check_appended,
    check_ranks,
    check_weights,
    check_widths,
)
from minitorch_dist.tensors.ops.layers.multihead_masks import (
    canonical_mask,
    check_attn_mask,
    check_type,
    merged,
)
from minitorch_dist.tensors.ops.layers.softmaxes import softmax
from minitorch_dist.tensors.ops.linear_algebra.products import matmul
from minitorch_dist.tensors.ops.shapes.axes import transpose
from minitorch_dist.tensors.ops.shapes.broadcasting import expand
from minitorch_dist.tensors.ops.shapes.joining import cat
from minitorch_dist.tensors.ops.shapes.pieces import split
from minitorch_dist.tensors.ops.shapes.reshaping import reshape, unsqueeze


def multi_head_attention_forward(
    query: T,
    key: T,
    value: T,
    embed_dim_to_check: int,
    num_heads: int,
    in_proj_weight: T | None,
    in_proj_bias: T | None,
    bias_k: T | None,
    bias_v: T | None,
    add_zero_attn: bool,
    dropout_p: float,
    out_proj_weight: T,
    out_proj_bias: T | None,
    training: bool = True,
    key_padding_mask: T | None = None,
    need_weights: bool = True,
    attn_mask: T | None = None,
    use_separate_proj_weight: bool = False,
    q_proj_weight: T | None = None,
    k_proj_weight: T | None = None,
    v_proj_weight: T | None = None,
    static_k: T | None = None,
    static_v: T | None = None,
    average_attn_weights: bool = True,
    is_causal: bool = False,
) -> tuple[T, T | None]:
    """Returns (output, weights or None). Inputs are (L, N, E) and (S, N, E), or without the batch N.

    Masks are True where a position must NOT be seen (the opposite of scaled_dot_product_attention),
    or numbers that are added to the scores. `is_causal` says that `attn_mask` is the causal one.
    """
    batched = check_ranks(query, key, value, key_padding_mask, attn_mask, num_heads)
    if not batched:
        query, key, value = unsqueeze(query, 1), unsqueeze(key, 1), unsqueeze(value, 1)
        if key_padding_mask is not None:
            key_padding_mask = unsqueeze(key_padding_mask, 0)
    steps, batch, width = query.array.shape
    key_padding_mask = canonical_mask(
        key_padding_mask, "key_padding_mask", query, attn_mask, "attn_mask"
    )
    if is_causal and attn_mask is None:
        raise RuntimeError(
            "Need attn_mask if specifying the is_causal hint. You may use the Transformer module "
            "method `generate_square_subsequent_mask` to create this mask."
        )
    is_causal = is_causal and key_padding_mask is None and not need_weights
    if is_causal:
        attn_mask = None  # the hint is taken at its word
    attn_mask = canonical_mask(attn_mask, "attn_mask", query)
    size = width // num_heads
    check_widths(query, key, value, embed_dim_to_check, num_heads, use_separate_proj_weight)

    biases: Any = (None,) * 3 if in_proj_bias is None else split(in_proj_bias, width, 0)
    q: T
    k: T
    v: T
    if use_separate_proj_weight:
        weights: Any = (q_proj_weight, k_proj_weight, v_proj_weight)
        check_weights((query, key, value), weights)
        q, k, v = _projected((query, key, value), weights, biases)
    elif query is key and key is value and in_proj_weight is not None:
        q, k, v = split(linear(query, in_proj_weight, in_proj_bias), width, -1)
    else:
        assert in_proj_weight is not None, "needed unless the projections are separate"
        q, k, v = _projected((query, key, value), split(in_proj_weight, width, 0), biases)
    check_attn_mask(attn_mask, batch * num_heads, steps, key.array.shape[0])
    check_appended(bias_k, bias_v, static_k, static_v, batch * num_heads, size)
    if bias_k is not None and bias_v is not None:
        k = cat([k, expand(bias_k, (1, batch, width))])
        v = cat([v, expand(bias_v, (1, batch, width))])

    def heads(x: T) -> T:  # (L, N, E) -> (N, heads, L, size)
        split_up = reshape(x, (x.array.shape[0], batch, num_heads, size))
        return transpose(transpose(split_up, 0, 1), 1, 2)

    q, k, v = heads(q), heads(k), heads(v)
    if static_k is not None:
        k = reshape(static_k, (batch, num_heads, -1, size))
    if static_v is not None:
        v = reshape(static_v, (batch, num_heads, -1, size))
    if add_zero_attn:
        nothing = base.new(
            q.plain, np.zeros((batch, num_heads, 1, size), q.array.dtype, like=q.array), q.device
        )
        k, v = cat([k, nothing], 2), cat([v, nothing], 2)
    mask = merged(
        attn_mask, key_padding_mask, (batch, num_heads, steps, k.array.shape[2]),
        appended=(bias_k is not None) + add_zero_attn,
    )  # fmt: skip

    chance = dropout_p if training else 0.0
    seen: T | None = None
    if need_weights:
        seen = softmax(_scores(mul(q, size**-0.5), k, mask), -1)
        if chance:
            seen = dropout(seen, chance, True)
        out = matmul(seen, v)
        if average_attn_weights:
            seen = mean(seen, 1)
    else:
        out = scaled_dot_product_attention(q, k, v, mask, chance, is_causal)
    joined = reshape(transpose(transpose(out, 1, 2), 0, 1), (steps, batch, width))
    output = linear(joined, out_proj_weight, out_proj_bias)
    if not batched:
        output = reshape(output, (steps, width))
        seen = None if seen is None else reshape(seen, seen.array.shape[1:])
    return output, seen


@autocasting.lower
def _scores(q: T, k: T, mask: T | None) -> T:
    """How well each query matches each key, with the mask added."""
    scores = matmul(q, transpose(k, -2, -1))
    if mask is None:
        return scores
    check_type(mask, scores)
    return add(scores, mask)


def _projected(inputs: Sequence[T], weights: Sequence[T], biases: Sequence[T | None]) -> list[T]:
    return [linear(x, w, b) for x, w, b in zip(inputs, weights, biases, strict=True)]
