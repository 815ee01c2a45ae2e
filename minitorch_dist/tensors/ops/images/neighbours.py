"""Channels that compete with their neighbours."""

from __future__ import annotations

from functools import reduce

from minitorch_dist.tensors.core.base import T
from minitorch_dist.tensors.core.operations import add, mul
from minitorch_dist.tensors.ops.elementwise.division import div
from minitorch_dist.tensors.ops.elementwise.powers import pow
from minitorch_dist.tensors.ops.images.padding import pad
from minitorch_dist.tensors.ops.shapes.pieces import narrow


def local_response_norm(
    input: T, size: int, alpha: float = 1e-4, beta: float = 0.75, k: float = 1.0
) -> T:
    """input / (k + alpha · mean of the squares of `size` neighbouring channels) ** beta"""
    x = input.array
    if x.ndim < 3:
        raise ValueError(f"Expected 3D or higher dimensionality input (got {x.ndim} dimensions)")
    if not x.size:
        return input
    border = (*(0, 0) * (x.ndim - 2), size // 2, (size - 1) // 2)
    squares = pad(mul(input, input), border)
    windows = [narrow(squares, 1, start, x.shape[1]) for start in range(size)]
    total = mul(reduce(add, windows), alpha / size)
    return div(input, pow(add(total, k), beta))
