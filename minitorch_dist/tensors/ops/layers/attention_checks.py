"""Checks of the inputs of attention, with torch's errors. They come before anything is computed."""

from __future__ import annotations

from typing import Any

import numpy as np

from minitorch_dist.tensors.core.base import Array, TensorBase
from minitorch_dist.tensors.dtypes import type_name
from minitorch_dist.tensors.ops.linear_algebra.products import C_NAMES, misfit
from minitorch_dist.tensors.promotion import broadcast_error, not_implemented

Shape = tuple[int, ...]


def check_tensors(
    query: TensorBase, key: TensorBase, value: TensorBase, mask: TensorBase | None, causal: bool
) -> None:
    """Ranks and types. Shapes are for `check_shapes`, as several query heads may share one of key and value."""
    for place, (name, given) in enumerate(
        (("query", query), ("key", key), ("value", value), ("attn_mask", mask))
    ):
        if not isinstance(given, TensorBase) and not (name == "attn_mask" and given is None):
            raise TypeError(
                f"scaled_dot_product_attention(): argument '{name}' (position {place + 1}) must be "
                f"Tensor, not {type(given).__name__}"
            )
    q, k, v = query.array, key.array, value.array
    if not q.dtype == k.dtype == v.dtype:
        raise RuntimeError(
            f"Expected query, key, and value to have the same dtype, but got query.dtype: {_c(q)} "
            f"key.dtype: {_c(k)} and value.dtype: {_c(v)} instead."
        )
    if min(q.ndim, k.ndim, v.ndim) < 2:
        raise RuntimeError(
            "Expected query, key, and value to all be  at least 2 dimensional, but got query.dim: "
            f"{q.ndim} key.dim: {k.ndim} and value.dim: {v.ndim} instead."
        )
    if mask is not None and mask.array.dtype not in (np.bool_, np.float32, q.dtype):
        raise RuntimeError(
            "Expected attn_mask dtype to be bool or float or to match query dtype, but got "
            f"attn_mask.dtype: {_c(mask.array)} and  query.dtype: {_c(q)} instead."
        )
    if causal and mask is not None:
        raise RuntimeError(
            "_scaled_dot_product_attention: Explicit attn_mask should not be set when is_causal=True"
        )
    if q.dtype.kind in "iub":
        raise RuntimeError(f"expected scalar type Float but found {type_name(q)[6:-6]}")
    if q.dtype.kind == "c":
        raise not_implemented("softmax_lastdim_kernel_impl", q)


def check_numbers(dropout_p: Any, scale: Any) -> None:
    """A probability, and a factor or None."""
    for name, given in (("dropout_p", dropout_p), ("scale", 0.0 if scale is None else scale)):
        if not hasattr(given, "__float__"):
            raise TypeError(
                f"scaled_dot_product_attention(): argument '{name}' must be float, not "
                f"{type(given).__name__}"
            )
    if not 0 <= dropout_p <= 1:
        raise RuntimeError(
            f"dropout probability has to be between 0 and 1, but got {float(dropout_p):g}"
        )


def check_shapes(q: Shape, k: Shape, v: Shape, mask: Shape | None) -> None:
    """The two products are possible, and the mask fits the table of scores without making it larger."""
    if q[-1] != k[-1]:
        raise misfit(q, (*k[:-2], k[-1], k[-2]))
    scores = (*_common(q[:-2], k[:-2]), q[-2], k[-2])
    if mask is not None and _common(scores, mask) != scores:
        raise RuntimeError(
            f"output with shape {list(scores)} doesn't match the broadcast shape "
            f"{list(_common(scores, mask))}"
        )
    if k[-2] != v[-2]:
        raise misfit(scores, v)
    _common(scores[:-2], v[:-2])


def sharing(query: Array, other: Array, enable_gqa: bool) -> int:
    """How many query heads (dimension -3) share one head of a key or a value."""
    if not enable_gqa:
        return 1
    if min(query.ndim, other.ndim) < 3:
        raise IndexError("Dimension out of range (expected to be in range of [-2, 1], but got -3)")
    heads: int = query.shape[-3]
    own: int = other.shape[-3]
    if heads == own:
        return 1
    if own == 0 or heads % own:
        raise RuntimeError(
            "Number of heads in key and value must divide the number of heads in query, but got "
            f"{own} and {heads}"
        )
    return heads // own


def _common(a: Shape, b: Shape) -> Shape:
    """The shape that both broadcast to."""
    if a == b:
        return a
    try:
        return np.broadcast_shapes(a, b)
    except ValueError:
        raise broadcast_error(a, b) from None


def _c(array: Array) -> str:
    return C_NAMES[str(array.dtype)]
