"""How variables (the rows) vary together over observations (the columns)."""

from __future__ import annotations

from typing import Any

from minitorch_dist.tensors.core.base import T, TensorBase
from minitorch_dist.tensors.core.operations import mul, sum
from minitorch_dist.tensors.ops.elementwise.arithmetic import sub
from minitorch_dist.tensors.ops.elementwise.division import div
from minitorch_dist.tensors.ops.elementwise.extremes import clamp
from minitorch_dist.tensors.ops.elementwise.powers import sqrt
from minitorch_dist.tensors.ops.linear_algebra.products import matmul
from minitorch_dist.tensors.ops.shapes.axes import transpose
from minitorch_dist.tensors.ops.shapes.pieces import diagonal
from minitorch_dist.tensors.ops.shapes.reshaping import reshape, unsqueeze
from minitorch_dist.tensors.promotion import cast, real_floating


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
    rows: Any = x if a.ndim == 2 else reshape(x, (1, a.size))
    w: Any = None
    for name, weights in (("fweights", fweights), ("aweights", aweights)):
        if weights is not None:
            if weights.array.shape != rows.array.shape[1:]:
                raise RuntimeError(
                    f"cov(): expected {name} to have the same numel as there are observations in "
                    f"the input but got {weights.array.size} != {rows.array.shape[1]}"
                )
            each = cast(weights, x.dtype)
            w = each if w is None else mul(w, each)
    weighted = rows if w is None else mul(rows, w)
    total: Any = rows.array.shape[1] if w is None else sum(w)
    apart: Any = sub(rows, div(sum(weighted, 1, True), total))
    freedom = total - correction
    if aweights is not None and correction:
        freedom = sub(total, mul(div(sum(mul(w, cast(aweights, x.dtype))), total), correction))
    freedom = clamp(freedom, 0) if isinstance(freedom, TensorBase) else max(freedom, 0)
    products = matmul(apart if w is None else mul(apart, w), transpose(apart, 0, 1))
    out: T = div(products, freedom)
    return reshape(out, ()) if rows.array.shape[0] == 1 else out  # one variable: a number


def corrcoef(input: T) -> T:
    """The correlation matrix of the rows: covariances in units of the standard deviations"""
    c = cov(input)
    if c.array.ndim == 0:
        return div(c, c)
    s = sqrt(diagonal(c))
    return clamp(div(div(c, unsqueeze(s, 1)), unsqueeze(s, 0)), -1, 1)
