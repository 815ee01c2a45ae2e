"""Transformer layers and stacks of them (Vaswani et al. 2017, arXiv:1706.03762)."""

from __future__ import annotations

import copy
import math
from collections.abc import Callable
from typing import Any, ClassVar

import numpy as np

from minitorch_dist.nn import functional as F, init
from minitorch_dist.nn.modules.attention import MultiheadAttention
from minitorch_dist.nn.modules.container import ModuleList
from minitorch_dist.nn.modules.dropout import Dropout
from minitorch_dist.nn.modules.linear import Linear
from minitorch_dist.nn.modules.module import Module
from minitorch_dist.nn.modules.normalization import LayerNorm
from minitorch_dist.tensors.makers import creation
from minitorch_dist.tensors.tensor import Tensor

Activation = Callable[[Any], Any]


def _activation(given: str | Activation) -> Activation:
    if callable(given):
        return given
    if given == "relu":
        return F.relu
    if given == "gelu":
        return F.gelu
    raise RuntimeError(f"activation should be relu/gelu, not {given}")


def _clones(module: Module, count: int) -> ModuleList:
    return ModuleList([copy.deepcopy(module) for _ in range(count)])


def _is_causal(mask: Tensor | None, hint: bool | None, length: int) -> bool:
    """Whether the mask is `generate_square_subsequent_mask`; a given hint is taken at its word."""
    if hint is not None or mask is None:
        return bool(hint)
    if mask.shape != (length, length):
        return False
    causal = Transformer.generate_square_subsequent_mask(length, mask.device, mask.dtype)
    return bool((mask == causal).all())


def _length(x: Tensor, batch_first: bool) -> int:
    return x.size(1 if batch_first else 0)


class _Layer(Module):
    """The common part of encoder and decoder layers. Each sublayer is added to its input and normalised."""

    attentions: ClassVar[tuple[str, ...]]

    def __init__(
        self,
        d_model: int,
        nhead: int,
        dim_feedforward: int = 2048,
        dropout: float = 0.1,
        activation: str | Activation = "relu",
        layer_norm_eps: float = 1e-5,
        batch_first: bool = False,
        norm_first: bool = False,
        bias: bool = True,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__()
        where: dict[str, Any] = {"bias": bias, "device": device, "dtype": dtype}
        for name in self.attentions:
            attention = MultiheadAttention(d_model, nhead, dropout=dropout, batch_first=batch_first, **where)
            setattr(self, name, attention)
        self.linear1 = Linear(d_model, dim_feedforward, **where)
        self.dropout = Dropout(dropout)
        self.linear2 = Linear(dim_feedforward, d_model, **where)
        self.norm_first = norm_first
        sublayers = range(1, len(self.attentions) + 2)
        for number in sublayers:
            setattr(self, f"norm{number}", LayerNorm(d_model, eps=layer_norm_eps, **where))
        for number in sublayers:
            setattr(self, f"dropout{number}", Dropout(dropout))
        self.activation = _activation(activation)

    def _sublayer(self, number: int, x: Tensor, function: Activation) -> Any:
        """x + function(x), where `function` sees a normalised x, or the sum is normalised."""
        norm, dropout = getattr(self, f"norm{number}"), getattr(self, f"dropout{number}")
        if self.norm_first:
            return x + dropout(function(norm(x)))
        return norm(x + dropout(function(x)))

    def _feed_forward(self, x: Tensor) -> Tensor:
        return self.linear2(self.dropout(self.activation(self.linear1(x))))


class TransformerEncoderLayer(_Layer):
    """Self-attention, then two linear layers."""

    attentions = ("self_attn",)

    def forward(
        self,
        src: Tensor,
        src_mask: Tensor | None = None,
        src_key_padding_mask: Tensor | None = None,
        is_causal: bool = False,
    ) -> Tensor:
        options = {
            "attn_mask": src_mask,
            "key_padding_mask": src_key_padding_mask,
            "need_weights": False,
            "is_causal": is_causal,
        }
        x = self._sublayer(1, src, lambda x: self.self_attn(x, x, x, **options)[0])
        return self._sublayer(2, x, self._feed_forward)  # type: ignore[no-any-return]


class TransformerDecoderLayer(_Layer):
    """Self-attention, attention to the encoder's memory, then two linear layers."""

    attentions = ("self_attn", "multihead_attn")

    def forward(
        self,
        tgt: Tensor,
        memory: Tensor,
        tgt_mask: Tensor | None = None,
        memory_mask: Tensor | None = None,
        tgt_key_padding_mask: Tensor | None = None,
        memory_key_padding_mask: Tensor | None = None,
        tgt_is_causal: bool = False,
        memory_is_causal: bool = False,
    ) -> Tensor:
        itself = {
            "attn_mask": tgt_mask,
            "key_padding_mask": tgt_key_padding_mask,
            "need_weights": False,
            "is_causal": tgt_is_causal,
        }
        other = {
            "attn_mask": memory_mask,
            "key_padding_mask": memory_key_padding_mask,
            "need_weights": False,
            "is_causal": memory_is_causal,
        }
        x = self._sublayer(1, tgt, lambda x: self.self_attn(x, x, x, **itself)[0])
        x = self._sublayer(2, x, lambda x: self.multihead_attn(x, memory, memory, **other)[0])
        return self._sublayer(3, x, self._feed_forward)  # type: ignore[no-any-return]


class TransformerEncoder(Module):
    """A stack of encoder layers, copies of the one given."""

    def __init__(
        self,
        encoder_layer: Module,
        num_layers: int,
        norm: Module | None = None,
        enable_nested_tensor: bool = True,
        mask_check: bool = True,
    ) -> None:
        super().__init__()
        self.layers = _clones(encoder_layer, num_layers)
        self.num_layers, self.norm = num_layers, norm
        self.enable_nested_tensor, self.mask_check = enable_nested_tensor, mask_check

    def forward(
        self,
        src: Tensor,
        mask: Tensor | None = None,
        src_key_padding_mask: Tensor | None = None,
        is_causal: bool | None = None,
    ) -> Tensor:
        output: Any = src
        causal = _is_causal(mask, is_causal, _length(src, self.layers[0].self_attn.batch_first))
        for layer in self.layers:
            output = layer(output, src_mask=mask, src_key_padding_mask=src_key_padding_mask, is_causal=causal)
        return output if self.norm is None else self.norm(output)  # type: ignore[no-any-return]


class TransformerDecoder(Module):
    """A stack of decoder layers, copies of the one given."""

    def __init__(self, decoder_layer: Module, num_layers: int, norm: Module | None = None) -> None:
        super().__init__()
        self.layers = _clones(decoder_layer, num_layers)
        self.num_layers, self.norm = num_layers, norm

    def forward(
        self,
        tgt: Tensor,
        memory: Tensor,
        tgt_mask: Tensor | None = None,
        memory_mask: Tensor | None = None,
        tgt_key_padding_mask: Tensor | None = None,
        memory_key_padding_mask: Tensor | None = None,
        tgt_is_causal: bool | None = None,
        memory_is_causal: bool = False,
    ) -> Tensor:
        output: Any = tgt
        length = _length(tgt, self.layers[0].self_attn.batch_first)
        causal = _is_causal(tgt_mask, tgt_is_causal, length)
        for layer in self.layers:
            output = layer(
                output,
                memory,
                tgt_mask=tgt_mask,
                memory_mask=memory_mask,
                tgt_key_padding_mask=tgt_key_padding_mask,
                memory_key_padding_mask=memory_key_padding_mask,
                tgt_is_causal=causal,
                memory_is_causal=memory_is_causal,
            )
        return output if self.norm is None else self.norm(output)  # type: ignore[no-any-return]


class Transformer(Module):
    """Encoder and decoder together, for translation from one sequence to another."""

    def __init__(
        self,
        d_model: int = 512,
        nhead: int = 8,
        num_encoder_layers: int = 6,
        num_decoder_layers: int = 6,
        dim_feedforward: int = 2048,
        dropout: float = 0.1,
        activation: str | Activation = "relu",
        custom_encoder: Any = None,
        custom_decoder: Any = None,
        layer_norm_eps: float = 1e-5,
        batch_first: bool = False,
        norm_first: bool = False,
        bias: bool = True,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__()
        shared: tuple[Any, ...] = (
            d_model, nhead, dim_feedforward, dropout, activation, layer_norm_eps, batch_first,
            norm_first, bias, device, dtype,
        )  # fmt: skip
        where: dict[str, Any] = {"bias": bias, "device": device, "dtype": dtype}
        self.encoder = (
            custom_encoder
            if custom_encoder is not None
            else TransformerEncoder(
                TransformerEncoderLayer(*shared), num_encoder_layers, LayerNorm(d_model, eps=layer_norm_eps, **where)
            )
        )
        self.decoder = (
            custom_decoder
            if custom_decoder is not None
            else TransformerDecoder(
                TransformerDecoderLayer(*shared), num_decoder_layers, LayerNorm(d_model, eps=layer_norm_eps, **where)
            )
        )
        for weight in self.parameters():
            if weight.dim() > 1:
                init.xavier_uniform_(weight)
        self.d_model, self.nhead, self.batch_first = d_model, nhead, batch_first

    def forward(
        self,
        src: Tensor,
        tgt: Tensor,
        src_mask: Tensor | None = None,
        tgt_mask: Tensor | None = None,
        memory_mask: Tensor | None = None,
        src_key_padding_mask: Tensor | None = None,
        tgt_key_padding_mask: Tensor | None = None,
        memory_key_padding_mask: Tensor | None = None,
        src_is_causal: bool | None = None,
        tgt_is_causal: bool | None = None,
        memory_is_causal: bool = False,
    ) -> Tensor:
        axis = 0 if self.batch_first else 1
        if src.dim() == 3 and src.size(axis) != tgt.size(axis):
            raise RuntimeError("the batch number of src and tgt must be equal")
        if src.size(-1) != self.d_model or tgt.size(-1) != self.d_model:
            raise RuntimeError("the feature number of src and tgt must be equal to d_model")
        memory = self.encoder(src, mask=src_mask, src_key_padding_mask=src_key_padding_mask, is_causal=src_is_causal)
        return self.decoder(
            tgt,
            memory,
            tgt_mask=tgt_mask,
            memory_mask=memory_mask,
            tgt_key_padding_mask=tgt_key_padding_mask,
            memory_key_padding_mask=memory_key_padding_mask,
            tgt_is_causal=tgt_is_causal,
            memory_is_causal=memory_is_causal,
        )

    @staticmethod
    def generate_square_subsequent_mask(sz: int, device: Any = None, dtype: Any = None) -> Tensor:
        """-inf above the diagonal, 0 elsewhere: position i sees positions up to i."""
        mask: Tensor = creation.full((sz, sz), -math.inf, device=device, dtype=dtype)
        mask.array[np.tri(sz, dtype=bool)] = 0
        return mask
