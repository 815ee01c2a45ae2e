"""beta · input + alpha · (a product), the product being of matrices, vectors, or batches of matrices.

With beta = 0 the input is ignored altogether, so that a NaN in it does not spread.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from minitorch_dist.tensors import dtypes
from minitorch_dist.tensors.core.base import Array, Number, T
from minitorch_dist.tensors.core.graph import record
from minitorch_dist.tensors.core.operations import sum_to
from minitorch_dist.tensors.core.views import inplace
from minitorch_dist.tensors.ops import autocasting
from minitorch_dist.tensors.ops.linear_algebra.products import check_rank, product, same_dtype

Times = Callable[[Array, Array], Array]


def _fused(
    name: str, input: T, a: T, b: T, beta: Number, alpha: Number, times: Times, da: Times, db: Times
) -> T:
    """`times` multiplies; `da(g, y)` and `db(g, x)` are its gradients."""
    same_dtype(input, a, b)
    x, y = a.array, b.array
    wide = np.float32 if x.dtype in dtypes.HALVES else x.dtype  # round half precision once
    try:
        out = times(x.astype(wide, copy=False), y.astype(wide, copy=False))
    except ValueError:
        raise RuntimeError(
            f"{name[:-9].lower()}: shapes cannot be multiplied ({_times(x)} and {_times(y)})"
        ) from None
    if alpha != 1:
        out *= alpha
    if beta != 0:
        try:
            out += input.array.astype(wide, copy=False) * np.asanyarray(beta).astype(wide)
        except ValueError:
            raise RuntimeError(
                f"The expanded size of the tensor must match the existing size: {list(out.shape)} "
                f"and {list(input.array.shape)}"
            ) from None
    shape = input.array.shape
    return record(
        out.astype(x.dtype, copy=False),
        name,
        (input, lambda g: sum_to(g if beta == 1 else g * beta, shape)),
        (a, lambda g: da(g if alpha == 1 else g * alpha, y), b),
        (b, lambda g: db(g if alpha == 1 else g * alpha, x), a),
    )


def _times(x: Array) -> str:
    return "x".join(map(str, x.shape))


@autocasting.lower
def addmm(input: T, mat1: T, mat2: T, *, beta: Number = 1, alpha: Number = 1) -> T:
    """beta · input + alpha · mat1 @ mat2"""
    check_rank(mat1, 2, "addmm", "mat1 must be a matrix")
    check_rank(mat2, 2, "addmm", "mat2 must be a matrix")
    return _fused("AddmmBackward0", input, mat1, mat2, beta, alpha,
                  lambda x, y: product(x, y, "aten.addmm"),
                  lambda g, y: product(g, y.T), lambda g, x: product(x.T, g))  # fmt: skip


def addmv(input: T, mat: T, vec: T, *, beta: Number = 1, alpha: Number = 1) -> T:
    """beta · input + alpha · mat @ vec"""
    check_rank(mat, 2, "addmv", "matrix @ vector expected")
    check_rank(vec, 1, "addmv", "matrix @ vector expected")
    return _fused("AddmvBackward0", input, mat, vec, beta, alpha,
                  lambda x, y: product(x, y[:, None])[:, 0],
                  lambda g, y: product(g[:, None], y[None, :]),
                  lambda g, x: product(x.T, g[:, None])[:, 0])  # fmt: skip


def addr(input: T, vec1: T, vec2: T, *, beta: Number = 1, alpha: Number = 1) -> T:
    """beta · input + alpha · the outer product of two vectors"""
    check_rank(vec1, 1, "addr", "vec1 must be a vector")
    check_rank(vec2, 1, "addr", "vec2 must be a vector")
    return _fused("AddrBackward0", input, vec1, vec2, beta, alpha,
                  lambda x, y: x[:, None] * y,
                  lambda g, y: product(g, y[:, None])[:, 0],
                  lambda g, x: product(x[None, :], g)[0])  # fmt: skip


@autocasting.lower
def baddbmm(input: T, batch1: T, batch2: T, *, beta: Number = 1, alpha: Number = 1) -> T:
    """beta · input + alpha · batch1 @ batch2, pair by pair"""
    _check_batches(batch1, batch2)
    return _fused("BaddbmmBackward0", input, batch1, batch2, beta, alpha,
                  lambda x, y: product(x, y, "aten.baddbmm"),
                  lambda g, y: product(g, y.swapaxes(1, 2)),
                  lambda g, x: product(x.swapaxes(1, 2), g))  # fmt: skip


@autocasting.lower
def addbmm(input: T, batch1: T, batch2: T, *, beta: Number = 1, alpha: Number = 1) -> T:
    """beta · input + alpha · the sum of batch1 @ batch2 over the batch"""
    _check_batches(batch1, batch2)
    return _fused("AddbmmBackward0", input, batch1, batch2, beta, alpha,
                  lambda x, y: product(x, y).sum(0, dtype=x.dtype),
                  lambda g, y: product(g[None], y.swapaxes(1, 2)),
                  lambda g, x: product(x.swapaxes(1, 2), g[None]))  # fmt: skip


def _check_batches(batch1: T, batch2: T) -> None:
    check_rank(batch1, 3, "batch1", "must be a 3D tensor")
    check_rank(batch2, 3, "batch2", "must be a 3D tensor")
    if batch1.array.shape[0] != batch2.array.shape[0]:
        raise RuntimeError(
            "batch1 and batch2 must have same number of batches, got "
            f"{batch1.array.shape[0]} and {batch2.array.shape[0]}"
        )


addmm_ = inplace(addmm)
addmv_ = inplace(addmv)
addr_ = inplace(addr)
baddbmm_ = inplace(baddbmm)
addbmm_ = inplace(addbmm)
