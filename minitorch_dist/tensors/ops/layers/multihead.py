"""Attention with several heads: project, split into heads, attend in each, join, project back."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from minitorch_dist.tensors.core.base import T
from minitorch_dist.tensors.core.operations import add, mul
from minitorch_dist.tensors.ops import autocasting
from minitorch_dist.tensors.ops.along_axes.reductions import mean
from minitorch_dist.tensors.ops.layers.attention import scaled_dot_product_attention
from minitorch_dist.tensors.ops.layers.dropout import dropout
from minitorch_dist.tensors.ops.layers.linear import linear
from minitorch_dist.tensors.ops.layers.multihead_masks import canonical_mask, merged
from minitorch_dist.tensors.ops.layers.softmaxes import softmax
from minitorch_dist.tensors.ops.linear_algebra.products import matmul
from minitorch_dist.tensors.ops.shapes.axes import transpose
from minitorch_dist.tensors.ops.shapes.pieces import split
from minitorch_dist.tensors.ops.shapes.reshaping import reshape, unsqueeze


def multi_head_attention(
    query: T,
    key: T,
    value: T,
    embed_dim_to_check: int,
    num_heads: int,
    in_proj_weight: T | None,
    in_proj_bias: T | None,
    dropout_p: float,
    out_proj_weight: T,
    out_proj_bias: T | None,
    training: bool = True,
    key_padding_mask: T | None = None,
    need_weights: bool = True,
    attn_mask: T | None = None,
    separate_weights: Sequence[T] | None = None,
    average_attn_weights: bool = True,
    is_causal: bool = False,
) -> tuple[T, T | None]:
    """Returns (output, weights or None). Inputs are (L, N, E) and (S, N, E), or without the batch N.

    Masks are True where a position must NOT be seen (the opposite of scaled_dot_product_attention),
    or numbers that are added to the scores. `is_causal` says that `attn_mask` is the causal one.
    `separate_weights` project query, key and value where these have several widths.
    """
    batched = _check(query, key, value, embed_dim_to_check, num_heads)
    if not batched:
        query, key, value = unsqueeze(query, 1), unsqueeze(key, 1), unsqueeze(value, 1)
        if key_padding_mask is not None:
            key_padding_mask = unsqueeze(key_padding_mask, 0)
    steps, batch, width = query.array.shape
    key_padding_mask = canonical_mask(key_padding_mask, "key_padding_mask", query, attn_mask, "attn_mask")
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

    def heads(x: T) -> T:  # (L, N, E) -> (N, heads, L, size)
        split_up = reshape(x, (x.array.shape[0], batch, num_heads, size))
        return transpose(transpose(split_up, 0, 1), 1, 2)

    projected = _projected((query, key, value), in_proj_weight, in_proj_bias, separate_weights)
    q, k, v = (heads(x) for x in projected)
    mask = merged(attn_mask, key_padding_mask, (batch, num_heads, steps, k.array.shape[2]))
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


def _check(query: T, key: T, value: T, embed_dim: int, num_heads: int) -> bool:
    """Whether there is a batch; an error where the three do not belong together."""
    shapes = [t.array.shape for t in (query, key, value)]
    rank = len(shapes[0])
    if rank not in (2, 3) or {len(shape) for shape in shapes} != {rank}:
        raise AssertionError(
            f"query, key and value should be unbatched 2-D or batched 3-D tensors but have shapes {shapes}"
        )
    if shapes[1][:-1] != shapes[2][:-1]:
        raise AssertionError(f"key shape {shapes[1]} does not match value shape {shapes[2]}")
    if shapes[0][-1] != embed_dim or embed_dim % num_heads:
        raise AssertionError(
            f"was expecting embedding dimension of {embed_dim}, divisible by num_heads {num_heads}, but "
            f"got {shapes[0][-1]}"
        )
    return rank == 3


def _projected(
    inputs: Sequence[T], weight: T | None, bias: T | None, separate: Sequence[T] | None
) -> Sequence[T]:
    """Query, key and value: one product where all three are one tensor."""
    query, key, value = inputs
    width = query.array.shape[-1]
    if separate is None:
        assert weight is not None, "needed unless the projections are separate"
        if query is key and key is value:
            return split(linear(query, weight, bias), width, -1)
        separate = split(weight, width, 0)
    biases: Any = (None,) * 3 if bias is None else split(bias, width, 0)
    return [linear(x, w, b) for x, w, b in zip(inputs, separate, biases, strict=True)]


@autocasting.lower
def _scores(q: T, k: T, mask: T | None) -> T:
    """How well each query matches each key, with the mask added."""
    scores = matmul(q, transpose(k, -2, -1))
    return scores if mask is None else add(scores, mask)
