"""beta · input + alpha · a product of two matrices, or of two batches of matrices.

With beta = 0 the input is ignored altogether, so that a NaN in it does not spread.
"""

from __future__ import annotations

from minitorch_dist.tensors.core.base import Number, T
from minitorch_dist.tensors.core.operations import add, mul
from minitorch_dist.tensors.core.views import inplace
from minitorch_dist.tensors.ops import autocasting
from minitorch_dist.tensors.ops.linear_algebra.products import bmm, mm, same_dtype
from minitorch_dist.tensors.ops.shapes.broadcasting import expand


@autocasting.lower
def addmm(input: T, mat1: T, mat2: T, *, beta: Number = 1, alpha: Number = 1) -> T:
    """beta · input + alpha · mat1 @ mat2"""
    return _added(input, mm(mat1, mat2), beta, alpha)


@autocasting.lower
def baddbmm(input: T, batch1: T, batch2: T, *, beta: Number = 1, alpha: Number = 1) -> T:
    """beta · input + alpha · batch1 @ batch2, pair by pair"""
    return _added(input, bmm(batch1, batch2), beta, alpha)


def _added(input: T, product: T, beta: Number, alpha: Number) -> T:
    same_dtype(input, product)
    scaled = product if alpha == 1 else mul(product, alpha)
    if beta == 0:
        return scaled
    whole = expand(input, product.array.shape)
    return add(whole if beta == 1 else mul(whole, beta), scaled)


addmm_, baddbmm_ = inplace(addmm), inplace(baddbmm)
