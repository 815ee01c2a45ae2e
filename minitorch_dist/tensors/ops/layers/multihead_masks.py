"""Masks of multi-head attention, which are True where a position must NOT be seen, or numbers to add.

Two of them make one table of numbers, which broadcasts to the scores:

    attn_mask          (L, S) or (N·heads, L, S)     who may look where
    key_padding_mask   (N, S)                        which positions hold no word
"""

from __future__ import annotations

import warnings

import numpy as np

from minitorch_dist.tensors.core import base
from minitorch_dist.tensors.core.base import T, TensorBase
from minitorch_dist.tensors.core.operations import add
from minitorch_dist.tensors.ops.layers.multihead_checks import size_text
from minitorch_dist.tensors.ops.linear_algebra.products import C_NAMES
from minitorch_dist.tensors.ops.shapes.joining import cat
from minitorch_dist.tensors.ops.shapes.reshaping import reshape


def canonical_mask(
    mask: T | None, name: str, like: T, other: TensorBase | None = None, other_name: str = ""
) -> T | None:
    """`mask` in numbers of the type of `like`: -inf where a bool is True. Numbers stay as they are.

    A warning, as in torch, if the type of `other` is another one.
    """
    if mask is None:
        return None
    kind = mask.array.dtype
    if kind.kind != "b" and not mask.dtype.is_floating_point:
        raise AssertionError(f"only bool and floating types of {name} are supported")
    if other is not None and other.array.dtype != kind:
        warnings.warn(
            f"Support for mismatched {name} and {other_name} is deprecated. Use same type for both "
            "instead.",
            stacklevel=2,
        )
    if kind.kind != "b":
        return mask
    numbers = np.where(mask.array, -np.inf, 0).astype(like.array.dtype)
    made: T = base.new(mask.plain, numbers, mask.device)
    return made


def check_attn_mask(mask: TensorBase | None, lead: int, steps: int, sources: int) -> None:
    """A number for each query and each key; a mask of three dimensions has a table for each head."""
    if mask is None:
        return
    rank = mask.array.ndim
    wanted = (steps, sources) if rank == 2 else (lead, steps, sources)
    if mask.array.shape != wanted:
        raise RuntimeError(
            f"The shape of the {rank}D attn_mask is {size_text(mask.array.shape)}, but should be {wanted}."
        )


def merged(
    attn_mask: T | None,
    key_padding_mask: T | None,
    scores: tuple[int, int, int, int],
    appended: int,
) -> T | None:
    """Both masks as one, which broadcasts to `scores`: (N, heads, L, S). Keys that were appended are always seen."""
    batch, heads, _, sources = scores
    whole: T | None = None
    if attn_mask is not None:
        shape = attn_mask.array.shape
        lead = (batch, heads) if len(shape) == 3 else (1, 1)
        whole = _wider(reshape(attn_mask, (*lead, *shape[-2:])), appended)
    if key_padding_mask is not None:
        padding = _wider(key_padding_mask, appended)
        for dimension, wanted in enumerate((batch, sources)):
            found = padding.array.shape[dimension]
            if found != wanted:
                raise AssertionError(
                    f"Expected key_padded_mask.shape[{dimension}] to be {wanted}, but got {found}"
                )
        padding = reshape(padding, (batch, 1, 1, sources))
        whole = padding if whole is None else add(whole, padding)
    return whole


def _wider(mask: T, appended: int) -> T:
    """A mask with room for the keys that bias_k and add_zero_attn have appended."""
    if not appended:
        return mask
    room = np.zeros((*mask.array.shape[:-1], appended), mask.array.dtype, like=mask.array)
    blank: T = base.new(mask.plain, room, mask.device)
    return cat([mask, blank], -1)


def check_type(mask: TensorBase, scores: TensorBase) -> None:
    """Scores do not take a mask of another type."""
    if mask.array.dtype != scores.array.dtype:
        given, wanted = (C_NAMES[str(each.array.dtype)] for each in (mask, scores))
        raise RuntimeError(
            f"Input dtypes must be the same, got: input {given}, batch1: {wanted}, batch2: {wanted}"
        )
