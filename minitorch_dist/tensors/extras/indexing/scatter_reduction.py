"""`scatter_reduce`: values that meet at one place are summed, multiplied, averaged, or compared.

index  0 1 0        places 0: a, c    1: b
src    a b c   ->   self[0] = reduce(self[0], a, c), self[1] = reduce(self[1], b)
"""

from __future__ import annotations

import numpy as np

from minitorch_dist.tensors.autograd.joint import record_joint
from minitorch_dist.tensors.core.base import Array, T, TensorBase
from minitorch_dist.tensors.core.graph import same_device
from minitorch_dist.tensors.core.operations import axis
from minitorch_dist.tensors.core.views import inplace
from minitorch_dist.tensors.masks import only
from minitorch_dist.tensors.ops.accumulation import add_at
from minitorch_dist.tensors.ops.indexing.gathering import _values, places
from minitorch_dist.tensors.ops.shapes.broadcasting import expand
from minitorch_dist.tensors.ops.shapes.reshaping import reshape

_START = {"sum": 0, "mean": 0, "prod": 1}


def scatter_reduce(
    input: T,
    dim: int,
    index: TensorBase,
    src: T,
    reduce: str,
    *,
    include_self: bool = True,
) -> T:
    """`src` combined, at the places that `index` names, with what is there (`include_self`)."""
    if reduce not in ("sum", "prod", "mean", "amax", "amin"):
        raise RuntimeError(
            "reduce argument must be either sum, prod, mean, amax or amin, got " + reduce
        )
    same_device(input, index, src)
    x = input.array
    line, _, where = places(x, dim, index, "scatter_reduce", src)
    values = _values(x, index, src)
    if not index.array.size:
        nothing = np.zeros(src.array.shape, x.dtype, like=x)
        return record_joint(
            x.copy(), "ScatterReduceBackward0", (input, src), lambda g: [g, nothing]
        )
    shape, taken = line.shape, src.array.shape
    hit = np.zeros(shape, bool, like=x)
    hit[where] = True
    start = line.copy()
    if not include_self:
        start[hit] = _START.get(reduce, _extreme(x.dtype, reduce))
    counts = np.full(shape, int(include_self), like=x)
    np.add.at(counts, where, 1)
    out = start
    if reduce in ("sum", "mean"):
        add_at(out, where, values)
        if reduce == "mean":
            shares = np.where(hit, np.maximum(counts, 1), 1)
            out = (out / shares if x.dtype.kind not in "iub" else out // shares).astype(x.dtype)
    else:
        ufunc = {"prod": np.multiply, "amax": np.maximum, "amin": np.minimum}[reduce]
        ufunc.at(out, where, values)
    own = np.where(hit, include_self, True)  # which old values take part

    def backward(grad: Array) -> list[Array]:
        g = grad.reshape(shape)
        if reduce == "sum":
            mine, theirs = only(g, own), g[where]
        elif reduce == "mean":
            shared = g / np.where(hit, np.maximum(counts, 1), 1)
            mine, theirs = only(shared, own), shared[where]
        elif reduce == "prod":
            mine, theirs = _without_one(g, line, values, where, own)
        else:
            winners = (line == out) & own
            ties = winners.astype(np.int64)
            np.add.at(ties, where, values == out[where])
            shared = g / np.maximum(ties, 1)
            mine = np.where(winners, shared, 0)
            theirs = np.where(values == out[where], shared[where], 0)
        spread = np.zeros(taken or (1,), grad.dtype, like=grad)
        spread[tuple(slice(n) for n in values.shape)] = theirs
        return [
            np.asanyarray(mine).astype(grad.dtype, copy=False).reshape(x.shape),
            spread.reshape(taken),
        ]

    reads = (input, index, src) if reduce not in ("sum", "mean") else (index,)
    return record_joint(
        out.reshape(x.shape), "ScatterReduceBackward0", (input, src), backward, reads=reads
    )


def _extreme(dtype: np.dtype, reduce: str) -> float:
    """The value that loses every comparison."""
    if dtype.kind == "b":
        return reduce == "amin"
    if dtype.kind in "iu":
        info = np.iinfo(dtype)
        return int(info.min if reduce == "amax" else info.max)
    return -np.inf if reduce == "amax" else np.inf


def _without_one(
    grad: Array, line: Array, values: Array, where: tuple[Array, ...], own: Array
) -> tuple[Array, Array]:
    """For every factor: the gradient times the product of the others (zeros are counted apart)."""
    zeros = (own & (line == 0)).astype(np.int64)
    np.add.at(zeros, where, values == 0)
    product = np.where(own & (line != 0), line, 1).astype(grad.dtype)
    np.multiply.at(product, where, np.where(values == 0, 1, values))

    def others(factor: Array, product: Array, zeros: Array) -> Array:
        safe = np.where(factor == 0, 1, factor)
        return np.asanyarray(
            np.where(factor == 0, product * (zeros == 1), product / safe * (zeros == 0))
        )

    mine = grad * np.where(own, others(line, product, zeros), 0)
    return mine, grad[where] * others(values, product[where], zeros[where])


scatter_reduce_ = inplace(scatter_reduce)


def index_reduce(
    input: T, dim: int, index: TensorBase, source: T, reduce: str, *, include_self: bool = True
) -> T:
    """The slices of `source` combined with those that `index` names."""
    if reduce not in ("prod", "mean", "amax", "amin"):
        raise RuntimeError(f"reduce argument must be either prod, mean, amax or amin, got {reduce}")
    place = axis(dim, input.array.ndim)
    shape = source.array.shape
    column = reshape(index, (1,) * place + (-1,) + (1,) * (len(shape) - place - 1))
    return scatter_reduce(
        input, dim, expand(column, shape), source, reduce, include_self=include_self
    )


index_reduce_ = inplace(index_reduce)
