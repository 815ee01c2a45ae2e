"""Softmax and its relations as `nn.functional` has them: the dimension may be left out.

Then torch guesses one, 0 or 1 by the number of dimensions, and warns. These functions do the same.
"""

from __future__ import annotations

import warnings

from minitorch_dist.tensors import dtypes
from minitorch_dist.tensors.core.base import T
from minitorch_dist.tensors.ops.layers import softmaxes


def softmax(input: T, dim: int | None = None, _stacklevel: int = 3, dtype: dtypes.dtype | None = None) -> T:
    """exp(input) / sum(exp(input)) along `dim`.

    Args:
        input: The logits.
        dim: The dimension whose elements add up to 1.
        dtype: Compute in this type.

    Returns:
        The probabilities.

    Example:
        >>> F.softmax(torch.zeros(4), dim=0).tolist()
        [0.25, 0.25, 0.25, 0.25]
    """
    return softmaxes.softmax(input, _chosen(input, dim, "softmax"), dtype)


def log_softmax(input: T, dim: int | None = None, _stacklevel: int = 3, dtype: dtypes.dtype | None = None) -> T:
    """The logarithm of `softmax`, without its rounding."""
    return softmaxes.log_softmax(input, _chosen(input, dim, "log_softmax"), dtype)


def _chosen(input: T, dim: int | None, name: str) -> int:
    if dim is not None:
        return dim
    warnings.warn(
        f"Implicit dimension choice for {name} has been deprecated. Change the call to include dim=X as an argument.",
        stacklevel=3,
    )
    return 0 if input.array.ndim in (0, 1, 3) else 1
