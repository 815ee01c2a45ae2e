"""Multi-head attention as a module."""

from __future__ import annotations

from typing import Any

from minitorch_dist.nn import init
from minitorch_dist.nn.modules.linear import Linear
from minitorch_dist.nn.modules.module import Module
from minitorch_dist.nn.parameter import Parameter
from minitorch_dist.tensors.makers import creation
from minitorch_dist.tensors.ops.layers.multihead import multi_head_attention
from minitorch_dist.tensors.tensor import Tensor


class NonDynamicallyQuantizableLinear(Linear):
    """A Linear; the name is the one that torch prints for the output projection."""


class MultiheadAttention(Module):
    """softmax(Q Kᵀ / √size) V in `num_heads` subspaces, with projections before and after.

    (Vaswani et al. 2017, arXiv:1706.03762.) The projections of query, key and value are one matrix, `in_proj_weight`.
    """

    def __init__(
        self,
        embed_dim: int,
        num_heads: int,
        dropout: float = 0.0,
        bias: bool = True,
        batch_first: bool = False,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__()
        if embed_dim <= 0 or num_heads <= 0:
            raise ValueError(
                "embed_dim and num_heads must be greater than 0, got "
                f"embed_dim={embed_dim} and num_heads={num_heads} instead"
            )
        self.embed_dim, self.num_heads = embed_dim, num_heads
        self.dropout, self.batch_first = dropout, batch_first
        self.head_dim = embed_dim // num_heads
        if self.head_dim * num_heads != embed_dim:
            raise AssertionError("embed_dim must be divisible by num_heads")

        def weight(*shape: int) -> Parameter:
            return Parameter(creation.empty(shape, device=device, dtype=dtype))

        self.in_proj_weight = weight(3 * embed_dim, embed_dim)
        self.register_parameter("in_proj_bias", weight(3 * embed_dim) if bias else None)
        self.out_proj = NonDynamicallyQuantizableLinear(embed_dim, embed_dim, bias=bias, device=device, dtype=dtype)
        self._reset_parameters()

    def _reset_parameters(self) -> None:
        init.xavier_uniform_(self.in_proj_weight)
        if self.in_proj_bias is not None:
            init.constant_(self.in_proj_bias, 0.0)
            assert self.out_proj.bias is not None
            init.constant_(self.out_proj.bias, 0.0)

    def forward(
        self,
        query: Tensor,
        key: Tensor,
        value: Tensor,
        key_padding_mask: Tensor | None = None,
        need_weights: bool = True,
        attn_mask: Tensor | None = None,
        average_attn_weights: bool = True,
        is_causal: bool = False,
    ) -> tuple[Tensor, Tensor | None]:
        """Returns (output, attention weights); the weights are None unless `need_weights`.

        Masks are True where a position must not be seen, or numbers to add to the scores.
        """
        if self.batch_first:
            if query is key and key is value:
                query = key = value = query.transpose(0, 1)
            else:
                query, key, value = (x.transpose(0, 1) for x in (query, key, value))
        output, weights = multi_head_attention(
            query, key, value, self.num_heads, (self.in_proj_weight, self.in_proj_bias),
            (self.out_proj.weight, self.out_proj.bias), self.dropout if self.training else 0.0,
            key_padding_mask, attn_mask, need_weights, average_attn_weights, is_causal,
        )  # fmt: skip
        return (output.transpose(0, 1) if self.batch_first else output), weights
