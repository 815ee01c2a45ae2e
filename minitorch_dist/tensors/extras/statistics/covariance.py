"""How variables (the rows) vary together over observations (the columns)."""

from __future__ import annotations

from typing import Any

import numpy as np

from minitorch_dist.tensors.core.base import Array, T
from minitorch_dist.tensors.core.graph import record
from minitorch_dist.tensors.core.without_warnings import without_warnings
from minitorch_dist.tensors.ops.elementwise.division import div
from minitorch_dist.tensors.ops.elementwise.extremes import clamp
from minitorch_dist.tensors.ops.elementwise.powers import sqrt
from minitorch_dist.tensors.ops.shapes.pieces import diagonal
from minitorch_dist.tensors.ops.shapes.reshaping import unsqueeze
from minitorch_dist.tensors.promotion import real_floating


def cov(
    input: T, *, correction: int = 1, fweights: T | None = None, aweights: T | None = None
) -> T:
    """The covariance matrix of the rows. Observations may be repeated (`fweights`) or weighted."""
    x = real_floating(input, "cov")
    a = x.array
    if a.ndim > 2:
        raise RuntimeError(
            f"cov(): expected input to have two or fewer dimensions but got an input with {a.ndim} "
            "dimensions"
        )
    rows = a.reshape(1, -1) if a.ndim < 2 else a
    w = np.ones(rows.shape[1], a.dtype, like=a)
    for name, weights in (("fweights", fweights), ("aweights", aweights)):
        if weights is not None:
            if weights.array.shape != w.shape:
                raise RuntimeError(
                    f"cov(): expected {name} to have the same numel as there are observations in "
                    f"the input but got {weights.array.size} != {w.size}"
                )
            w = w * weights.array.astype(a.dtype)
    total = w.sum()
    spare = correction if aweights is None else correction * (w * aweights.array).sum() / total
    freedom = np.asanyarray(np.maximum(total - spare, 0)).astype(a.dtype)

    def apart() -> Any:
        return rows - ((rows * w).sum(1, keepdims=True) / total).astype(a.dtype)

    def value() -> Any:
        c = apart()
        return (c * w) @ c.T / freedom

    def backward(g: Array) -> Any:
        g = g.reshape(len(rows), len(rows))
        return ((g + g.T) @ (apart() * w) / freedom).reshape(a.shape)

    out = without_warnings(value)
    return record(out if a.ndim == 2 else out.reshape(()), "CovBackward0", (x, backward, x))


def corrcoef(input: T) -> T:
    """The correlation matrix of the rows: covariances in units of the standard deviations"""
    c = cov(input)
    if c.array.ndim == 0:
        return div(c, c)
    s = sqrt(diagonal(c))
    return clamp(div(div(c, unsqueeze(s, 1)), unsqueeze(s, 0)), -1, 1)
