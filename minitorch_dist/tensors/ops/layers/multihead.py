"""Attention with several heads: project, split into heads, attend in each, join, project back."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from minitorch_dist.tensors.core import base
from minitorch_dist.tensors.core.base import T
from minitorch_dist.tensors.core.operations import add, mul
from minitorch_dist.tensors.ops.along_axes.reductions import mean
from minitorch_dist.tensors.ops.layers.attention import scaled_dot_product_attention
from minitorch_dist.tensors.ops.layers.dropout import dropout
from minitorch_dist.tensors.ops.layers.linear import linear
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
    or numbers that are added to the scores.
    """
    single = query.array.ndim == 2
    if single:
        query, key, value = unsqueeze(query, 1), unsqueeze(key, 1), unsqueeze(value, 1)
        if key_padding_mask is not None:
            key_padding_mask = unsqueeze(key_padding_mask, 0)
    elif query.array.ndim != 3:
        raise AssertionError(
            f"query should be unbatched 2D or batched 3D tensor but received {query.array.ndim}-D query tensor"
        )
    steps, batch, width = query.array.shape
    if width != embed_dim_to_check:
        raise AssertionError(
            f"was expecting embedding dimension of {embed_dim_to_check}, but got {width}"
        )
    size = width // num_heads
    if size * num_heads != width:
        raise AssertionError(f"embed_dim {width} not divisible by num_heads {num_heads}")
    if key.array.shape[:2] != value.array.shape[:2]:
        raise AssertionError(
            f"key's sequence and batch dims {list(key.array.shape[:2])} do not match value's "
            f"{list(value.array.shape[:2])}"
        )
    if is_causal and attn_mask is None:
        raise RuntimeError("Need attn_mask if specifying the is_causal hint.")

    biases: Any = (None,) * 3 if in_proj_bias is None else split(in_proj_bias, width, 0)
    q: T
    k: T
    v: T
    if use_separate_proj_weight:
        weights: Any = (q_proj_weight, k_proj_weight, v_proj_weight)
        q, k, v = _projected((query, key, value), weights, biases)
    elif query is key and key is value and in_proj_weight is not None:
        q, k, v = split(linear(query, in_proj_weight, in_proj_bias), width, -1)
    else:
        assert in_proj_weight is not None, "needed unless the projections are separate"
        q, k, v = _projected((query, key, value), split(in_proj_weight, width, 0), biases)
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
    mask = _scores(query, attn_mask, key_padding_mask, batch, num_heads, steps, k.array.shape[2])

    chance = dropout_p if training else 0.0
    seen: T | None = None
    if need_weights:
        scores = matmul(mul(q, size**-0.5), transpose(k, -2, -1))
        seen = softmax(scores if mask is None else add(scores, mask), -1)
        if chance:
            seen = dropout(seen, chance, True)
        out = matmul(seen, v)
        if average_attn_weights:
            seen = mean(seen, 1)
    else:
        out = scaled_dot_product_attention(q, k, v, mask, chance)
    joined = reshape(transpose(transpose(out, 1, 2), 0, 1), (steps, batch, width))
    output = linear(joined, out_proj_weight, out_proj_bias)
    if single:
        output = reshape(output, (steps, width))
        seen = None if seen is None else reshape(seen, seen.array.shape[1:])
    return output, seen


def _projected(inputs: Sequence[T], weights: Sequence[T], biases: Sequence[T | None]) -> list[T]:
    return [linear(x, w, b) for x, w, b in zip(inputs, weights, biases, strict=True)]


def _scores(
    like: T,
    attn_mask: T | None,
    key_padding_mask: T | None,
    batch: int,
    num_heads: int,
    steps: int,
    sources: int,
) -> T | None:
    """Both masks as one tensor of numbers to add, which broadcasts to (N, heads, L, S)."""
    whole: T | None = None
    if attn_mask is not None:
        shape = attn_mask.array.shape
        if len(shape) == 3 and shape[0] != batch * num_heads:
            raise RuntimeError(
                f"The shape of the 3D attn_mask is {shape}, but should be "
                f"{(batch * num_heads, steps, shape[2])}."
            )
        if len(shape) not in (2, 3):
            raise RuntimeError(f"attn_mask's dimension {len(shape)} is not supported")
        lead = (batch, num_heads) if len(shape) == 3 else (1, 1)
        whole = _padded(reshape(_numbers(attn_mask, like), (*lead, *shape[-2:])), sources)
    if key_padding_mask is not None:
        numbers = _numbers(key_padding_mask, like)
        hidden = _padded(reshape(numbers, (batch, 1, 1, numbers.array.shape[-1])), sources)
        whole = hidden if whole is None else add(whole, hidden)
    return whole


def _numbers(mask: T, like: T) -> T:
    """A mask of bools as numbers to add: -inf where True."""
    if mask.array.dtype.kind != "b":
        return mask
    numbers = np.where(mask.array, -np.inf, 0).astype(like.array.dtype)
    made: T = base.new(like.plain, numbers, mask.device)
    return made


def _padded(mask: T, sources: int) -> T:
    """Room for the positions that bias_k and add_zero_attn appended: they are always seen."""
    missing = sources - mask.array.shape[-1]
    if missing <= 0 or mask.array.shape[-1] == 1:
        return mask
    room = np.zeros((*mask.array.shape[:-1], missing), mask.array.dtype, like=mask.array)
    blank: T = base.new(mask.plain, room, mask.device)
    return cat([mask, blank], -1)
