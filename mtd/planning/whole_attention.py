"""Attention as before FlashAttention: the weights of all pairs are written to memory, and some are dropped.

    scores = q @ kᵀ / √E ─► weights = softmax(scores, later ones hidden) ─► dropout ─► @ v

Scaling, hiding and softmax are one pass over the scores, as in Megatron-LM's fused kernel. `tiled_attention` computes
the same and holds no such table.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from minitorch_dist.nn import functional as F
from minitorch_dist.tensors.ops.layers.softmaxes import softmax_of


def whole_attention(query: Any, key: Any, value: Any, dropout: float) -> Any:
    """Causal attention of queries, keys and values (…, heads, L, E)."""
    scores = (query * query.shape[-1] ** -0.5) @ key.transpose(-2, -1)
    length, array = scores.shape[-1], scores.array
    later = np.triu(np.ones((length, length), bool), 1)
    weights = softmax_of(scores, np.where(later, array.dtype.type("-inf"), array), -1)
    return F.dropout(weights, dropout) @ value
