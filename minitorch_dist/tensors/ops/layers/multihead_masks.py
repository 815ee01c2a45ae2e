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
            f"Support for mismatched {name} and {other_name} is deprecated. Use same type for both instead.",
            stacklevel=2,
        )
    if kind.kind != "b":
        return mask
    numbers = np.where(mask.array, -np.inf, 0).astype(like.array.dtype)
    made: T = base.new(mask.plain, numbers, mask.device)
    return made


def merged(attn_mask: T | None, key_padding_mask: T | None, scores: tuple[int, int, int, int]) -> T | None:
    """Both masks as one, which broadcasts to `scores`: (N, heads, L, S)."""
    batch, heads, steps, sources = scores
    whole: T | None = None
    if attn_mask is not None:
        shape = attn_mask.array.shape
        if shape not in ((steps, sources), (batch * heads, steps, sources)):
            raise RuntimeError(
                f"The shape of the {len(shape)}D attn_mask is {list(shape)}, but should be "
                f"{[steps, sources]} or {[batch * heads, steps, sources]}."
            )
        lead = (batch, heads) if len(shape) == 3 else (1, 1)
        whole = reshape(attn_mask, (*lead, steps, sources))
    if key_padding_mask is not None:
        if key_padding_mask.array.shape != (batch, sources):
            raise AssertionError(
                f"Expected key_padding_mask to have the shape {[batch, sources]}, but got "
                f"{list(key_padding_mask.array.shape)}"
            )
        padding = reshape(key_padding_mask, (batch, 1, 1, sources))
        whole = padding if whole is None else add(whole, padding)
    return whole
