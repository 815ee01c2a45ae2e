"""Attention with several heads: project, split into heads, attend in each, join, project back.

Masks are True where a position must NOT be seen (the opposite of scaled_dot_product_attention), or numbers to add:

    attn_mask          (L, S) or (N·heads, L, S)     who may look where
    key_padding_mask   (N, S)                        which positions hold no word
"""

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
from minitorch_dist.tensors.ops.layers.softmaxes import softmax
from minitorch_dist.tensors.ops.linear_algebra.products import matmul
from minitorch_dist.tensors.ops.shapes.axes import transpose
from minitorch_dist.tensors.ops.shapes.pieces import split
from minitorch_dist.tensors.ops.shapes.reshaping import reshape


def multi_head_attention(
    query: T,
    key: T,
    value: T,
    num_heads: int,
    in_projection: tuple[T, T | None],
    out_projection: tuple[T, T | None],
    dropout_p: float = 0.0,
    key_padding_mask: T | None = None,
    attn_mask: T | None = None,
    need_weights: bool = True,
    average_attn_weights: bool = True,
    is_causal: bool = False,
) -> tuple[T, T | None]:
    """Returns (output, weights or None) for inputs (L, N, E), (S, N, E) and (S, N, E).

    The projections are a weight and a bias; that of the inputs has query, key and value under one another.
    `is_causal` says that `attn_mask` is the causal one.
    """
    _check(query, key, value, num_heads)
    steps, batch, width = query.array.shape
    if is_causal and attn_mask is None:
        raise RuntimeError("is_causal only says what attn_mask is: give that mask, too")
    is_causal = is_causal and key_padding_mask is None and not need_weights
    if is_causal:
        attn_mask = None  # the hint is taken at its word
    size = width // num_heads

    def heads(x: T) -> T:  # (L, N, E) -> (N, heads, L, size)
        split_up = reshape(x, (x.array.shape[0], batch, num_heads, size))
        return transpose(transpose(split_up, 0, 1), 1, 2)

    q, k, v = (heads(x) for x in _projected((query, key, value), *in_projection))
    mask = _merged(attn_mask, key_padding_mask, query, (batch, num_heads, steps, k.array.shape[2]))
    seen: T | None = None
    if need_weights:
        seen = dropout(softmax(_scores(mul(q, size**-0.5), k, mask), -1), dropout_p)
        out = matmul(seen, v)
        if average_attn_weights:
            seen = mean(seen, 1)
    else:
        out = scaled_dot_product_attention(q, k, v, mask, dropout_p, is_causal)
    joined = reshape(transpose(transpose(out, 1, 2), 0, 1), (steps, batch, width))
    return linear(joined, *out_projection), seen


def _check(query: T, key: T, value: T, num_heads: int) -> None:
    shapes = [t.array.shape for t in (query, key, value)]
    width = shapes[0][-1]
    if {len(shape) for shape in shapes} != {3} or shapes[1][:-1] != shapes[2][:-1] or width % num_heads:
        raise AssertionError(f"query, key and value are (length, batch, width) for {num_heads} heads, but are {shapes}")


def _projected(inputs: Sequence[T], weight: T, bias: T | None) -> Sequence[T]:
    """Query, key and value: one product where all three are one tensor."""
    query, key, value = inputs
    width = query.array.shape[-1]
    if query is key and key is value:
        return split(linear(query, weight, bias), width, -1)
    biases: Any = (None,) * 3 if bias is None else split(bias, width, 0)
    return [linear(x, w, b) for x, w, b in zip(inputs, split(weight, width, 0), biases, strict=True)]


@autocasting.lower
def _scores(q: T, k: T, mask: T | None) -> T:
    """How well each query matches each key, with the mask added."""
    scores = matmul(q, transpose(k, -2, -1))
    return scores if mask is None else add(scores, mask)


def _merged(attn_mask: T | None, key_padding_mask: T | None, like: T, scores: tuple[int, int, int, int]) -> T | None:
    """Both masks as one table of numbers, which broadcasts to `scores`: (N, heads, L, S)."""
    batch, heads, steps, sources = scores
    forms: dict[str, dict[tuple[int, ...], tuple[int, ...]]] = {
        "attn_mask": {(steps, sources): (1, 1, steps, sources), (batch * heads, steps, sources): scores},
        "key_padding_mask": {(batch, sources): (batch, 1, 1, sources)},
    }
    whole: T | None = None
    for mask, (name, shapes) in zip((attn_mask, key_padding_mask), forms.items(), strict=True):
        if mask is None:
            continue
        shape = mask.array.shape
        if shape not in shapes:
            raise RuntimeError(f"The shape of {name} is {list(shape)}, but should be {' or '.join(map(str, shapes))}.")
        part = reshape(_numbers(mask, name, like), shapes[shape])
        whole = part if whole is None else add(whole, part)
    return whole


def _numbers(mask: T, name: str, like: T) -> T:
    """`mask` in numbers of the type of `like`: -inf where a bool is True. Numbers stay as they are."""
    if mask.dtype.is_floating_point:
        return mask
    if mask.array.dtype.kind != "b":
        raise AssertionError(f"only bool and floating types of {name} are supported")
    hidden = np.where(mask.array, -np.inf, 0).astype(like.array.dtype)
    made: T = base.new(mask.plain, hidden, mask.device)
    return made
