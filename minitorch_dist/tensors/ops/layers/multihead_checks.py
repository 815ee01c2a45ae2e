"""Checks of the inputs of multi-head attention, with torch's errors."""

from __future__ import annotations

from collections.abc import Sequence

from minitorch_dist.tensors.core.base import T, TensorBase


def check_ranks(
    query: TensorBase,
    key: TensorBase,
    value: TensorBase,
    key_padding_mask: TensorBase | None,
    attn_mask: TensorBase | None,
    num_heads: int,
) -> bool:
    """Whether there is a batch; an error if one of the tensors has it and another has not."""
    rank = query.array.ndim
    if rank not in (2, 3):
        raise AssertionError(
            f"query should be unbatched 2D or batched 3D tensor but received {rank}-D query tensor"
        )
    case = "For batched (3-D) `query`" if rank == 3 else "For unbatched (2-D) `query`"
    if not key.array.ndim == value.array.ndim == rank:
        raise AssertionError(
            f"{case}, expected `key` and `value` to be {rank}-D but found {key.array.ndim}-D and "
            f"{value.array.ndim}-D tensors respectively"
        )
    if key_padding_mask is not None and key_padding_mask.array.ndim != rank - 1:
        raise AssertionError(
            f"{case}, expected `key_padding_mask` to be `None` or {rank - 1}-D but found "
            f"{key_padding_mask.array.ndim}-D tensor instead"
        )
    if attn_mask is not None and attn_mask.array.ndim not in (2, 3):
        raise AssertionError(
            f"{case}, expected `attn_mask` to be `None`, 2-D or 3-D but found "
            f"{attn_mask.array.ndim}-D tensor instead"
        )
    if rank == 2 and attn_mask is not None and attn_mask.array.ndim == 3:
        wanted = (num_heads, query.array.shape[0], key.array.shape[0])
        if attn_mask.array.shape != wanted:
            raise AssertionError(
                f"Expected `attn_mask` shape to be {wanted} but got {size_text(attn_mask.array.shape)}"
            )
    return rank == 3


def check_widths(
    query: T, key: T, value: T, embed_dim: int, num_heads: int, separate: bool
) -> None:
    """Widths, and that each key has its value."""
    width = query.array.shape[-1]
    if width != embed_dim:
        raise AssertionError(f"was expecting embedding dimension of {embed_dim}, but got {width}")
    if width % num_heads:
        raise AssertionError(f"embed_dim {width} not divisible by num_heads {num_heads}")
    k, v = key.array.shape, value.array.shape
    if separate and k[:2] != v[:2]:
        raise AssertionError(
            f"key's sequence and batch dims {size_text(k[:2])} do not match value's {size_text(v[:2])}"
        )
    if not separate and k != v:
        raise AssertionError(f"key shape {size_text(k)} does not match value shape {size_text(v)}")


def check_weights(inputs: Sequence[T], weights: Sequence[T]) -> None:
    """Each projection takes the width of its input."""
    width = inputs[0].array.shape[-1]
    for name, x, weight in zip(("query", "key", "value"), inputs, weights, strict=True):
        wanted = (width, x.array.shape[-1])
        if weight.array.shape != wanted:
            raise AssertionError(
                f"expecting {name} weights shape of {wanted}, but got {size_text(weight.array.shape)}"
            )


def check_appended(
    bias_k: T | None, bias_v: T | None, static_k: T | None, static_v: T | None, lead: int, size: int
) -> None:
    """A key is appended with its value, or keys and values are given: (N·heads, S, size)."""
    if (bias_k is None) != (bias_v is None):
        here, missing = ("bias_v", "bias_k") if bias_k is None else ("bias_k", "bias_v")
        raise AssertionError(f"{here} is set but {missing} is None")
    for letter, word, static in (("k", "key", static_k), ("v", "value", static_v)):
        if static is None:
            continue
        if bias_k is not None:
            raise AssertionError(f"bias cannot be added to static {word}.")
        for dimension, wanted in ((0, lead), (2, size)):
            found = static.array.shape[dimension]
            if found != wanted:
                raise AssertionError(
                    f"expecting static_{letter}.size({dimension}) of {wanted}, but got {found}"
                )


def size_text(shape: tuple[int, ...]) -> str:
    """A shape as torch prints it."""
    return f"torch.Size({list(shape)})"
