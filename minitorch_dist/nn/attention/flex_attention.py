"""Attention whose scores a function of yours changes, and whose mask another one tells.

    def causal(b, h, q_idx, kv_idx):                     # which query may look at which key
        return q_idx >= kv_idx
    def nearer(score, b, h, q_idx, kv_idx):              # a score for one pair
        return score - 0.1 * (q_idx - kv_idx)

    mask = create_block_mask(causal, None, None, 128, 128)
    flex_attention(q, k, v, score_mod=nearer, block_mask=mask)

Torch compiles both functions into one kernel, and asks them for single numbers. Here they are asked once, for all pairs:
`b`, `h`, `q_idx` and `kv_idx` are tensors of whole numbers that broadcast to the scores' shape (batch, heads, queries,
keys). So a function of arithmetic, comparisons, `where` and indexing is the same in both. The whole matrix of scores is
computed, so a block mask saves nothing here; gradients pass, which torch offers on GPUs only. Blocks that a mask does not
list are left out, as in torch's kernels (torch without its compiler asks `mask_mod` alone).
"""

from __future__ import annotations

import math
import warnings
from typing import Any, NamedTuple, TypedDict

from minitorch_dist.nn.attention.block_mask import (
    BlockMask as BlockMask,
    Modification,
    and_masks as and_masks,
    asked_for_a_slice,
    create_block_mask as create_block_mask,
    create_mask as create_mask,
    everywhere,
    noop_mask as noop_mask,
    or_masks as or_masks,
)
from minitorch_dist.tensors import dtypes
from minitorch_dist.tensors.tensor import Tensor

LOWEST = -math.inf


class AuxRequest(NamedTuple):
    """Results that are wanted beside the attention: `AuxRequest(lse=True)`."""

    lse: bool = False
    max_scores: bool = False


class AuxOutput(NamedTuple):
    """The logarithm of each query's sum of exponentials, and its largest score; None where it was not asked for."""

    lse: Tensor | None = None
    max_scores: Tensor | None = None


class FlexKernelOptions(TypedDict, total=False):
    """Options of torch's kernels. They are taken, and there is no kernel here that they could change."""


def flex_attention(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    score_mod: Modification | None = None,
    block_mask: BlockMask | None = None,
    scale: float | None = None,
    enable_gqa: bool = False,
    return_lse: bool = False,
    kernel_options: Any = None,
    *,
    return_aux: AuxRequest | None = None,
) -> Any:
    """softmax(score_mod(query @ keyᵀ · scale)) @ value, for pairs that the mask allows. A query that may look at no key
    gets zeros. With `enable_gqa` several heads of the query share one of the key and the value."""
    _check(query, key, value, block_mask, enable_gqa)
    if return_lse and return_aux is not None:
        raise ValueError(
            "Cannot specify both return_lse and return_aux. return_lse is deprecated, please use "
            "return_aux=AuxRequest(lse=True) instead."
        )
    if return_lse:
        warnings.warn(
            "return_lse is deprecated and will be removed in v2.10. Please use return_aux=AuxRequest(lse=True) instead.",
            FutureWarning,
            stacklevel=2,
        )
    heads = query.shape[1] // key.shape[1]
    if heads > 1:
        key, value = (
            t.unsqueeze(2).expand(-1, -1, heads, -1, -1).flatten(1, 2) for t in (key, value)
        )
    wide = dtypes.float64 if query.dtype is dtypes.float64 else dtypes.float32
    scores = query.to(wide) @ key.to(wide).transpose(-2, -1)
    scores = scores * (1 / math.sqrt(query.shape[-1]) if scale is None else scale)
    if score_mod is not None:
        scores = score_mod(scores, *everywhere(scores.shape, scores.device)).to(wide)
    if block_mask is not None:
        scores = scores.masked_fill(~block_mask.allowed(scores.shape, scores.device), LOWEST)
    largest = scores.detach().amax(-1, keepdim=True)
    base = largest.masked_fill(largest == LOWEST, 0)  # where a query may look at nothing
    weights = (scores - base).exp()
    total = weights.sum(-1, keepdim=True)
    out = ((weights / total.masked_fill(total == 0, 1)) @ value.to(wide)).to(query.dtype)
    if return_aux is None and not return_lse:
        return out
    lse = (total.log() + base).squeeze(-1)
    if return_aux is None:
        return out, lse
    return out, AuxOutput(
        lse if return_aux.lse else None, largest.squeeze(-1) if return_aux.max_scores else None
    )


def _check(q: Tensor, k: Tensor, v: Tensor, mask: BlockMask | None, shares: bool) -> None:
    if not q.ndim == k.ndim == v.ndim == 4:
        raise NotImplementedError("NYI: query, key, and value must be 4D tensors")
    if q.shape[-1] != k.shape[-1]:
        raise ValueError(
            "Expect query and key/value to have the same embedding dimension but got "
            f"E={q.shape[-1]} and E={k.shape[-1]}."
        )
    if not shares and q.shape[1] != k.shape[1]:
        raise ValueError(
            f"Expect query and key/value to have the same number of heads but got Hq={q.shape[1]} and "
            f"Hkv={k.shape[1]}. Try setting enable_gqa=True for GQA."
        )
    if q.shape[1] % k.shape[1]:
        raise ValueError(
            "Expect number of query heads to be a multiple of kv heads for GQA but got "
            f"Hq={q.shape[1]} and Hkv={k.shape[1]}."
        )
    if mask is None:
        if q.shape[0] != k.shape[0]:
            raise ValueError(
                "Expect query and key/value to have the same batch size, or non-none block_mask, but got "
                f"block_mask=None, Bq={q.shape[0]}, and Bkv={k.shape[0]}."
            )
        return
    if mask.mask_mod is asked_for_a_slice:
        raise RuntimeError("Cannot use mask_mod from a sliced BlockMask")
    lengths = tuple(mask.shape[-2:])
    if lengths != (q.shape[-2], k.shape[-2]):
        kind = "smaller" if q.shape[-2] > lengths[0] or k.shape[-2] > lengths[1] else "larger"
        raise ValueError(
            f"block_mask was created for block_mask.shape={mask.shape} but got q_len={q.shape[-2]} and "
            f"kv_len={k.shape[-2]}. As the block mask was created for a {kind} length than you're using it for, you "
            "likely need to create a new block mask."
        )
