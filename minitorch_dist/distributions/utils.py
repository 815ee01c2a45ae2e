"""Parameters of one shape; probabilities from logits, and back."""

from __future__ import annotations

from typing import Any

from minitorch_dist.tensors.dtypes import get_default_dtype
from minitorch_dist.tensors.limits import finfo
from minitorch_dist.tensors.ops.elementwise.exponentials import sigmoid
from minitorch_dist.tensors.ops.layers.softmaxes import softmax
from minitorch_dist.tensors.ops.making.creation import tensor
from minitorch_dist.tensors.ops.shapes.broadcasting import broadcast_tensors
from minitorch_dist.tensors.tensor import Tensor


def broadcast_all(*values: Any) -> tuple[Tensor, ...]:
    """The values as tensors of one shape. A number takes the dtype of the first tensor."""
    if not all(isinstance(value, (Tensor, bool, int, float)) for value in values):
        raise ValueError(
            "Input arguments must all be instances of Number, "
            "torch.Tensor or objects implementing __torch_function__."
        )
    like = next((value for value in values if isinstance(value, Tensor)), None)
    dtype = get_default_dtype() if like is None else like.dtype
    device = None if like is None else like.device
    tensors = [
        value if isinstance(value, Tensor) else tensor(value, dtype=dtype, device=device)
        for value in values
    ]
    return tuple(broadcast_tensors(*tensors))


def logits_to_probs(logits: Any, is_binary: bool = False) -> Any:
    return sigmoid(logits) if is_binary else softmax(logits, dim=-1)


def clamp_probs(probs: Any) -> Any:
    """Away from 0 and 1 by the precision of the dtype, so that logarithms stay finite."""
    eps = finfo(probs.dtype).eps
    return probs.clamp(min=eps, max=1 - eps)


def probs_to_logits(probs: Any, is_binary: bool = False) -> Any:
    inside = clamp_probs(probs)
    return inside.log() - (-inside).log1p() if is_binary else inside.log()
