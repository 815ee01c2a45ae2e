"""Sparse matrices by coordinates (COO): what a graph convolution needs, products with dense matrices.

A sparse tensor is a tensor whose array is a `SparseArray`. Its gradient is a dense array of the same shape; the
gradient of the values picks from that.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from minitorch_dist.tensors import dtypes
from minitorch_dist.tensors.core import base
from minitorch_dist.tensors.core.base import Array, T, TensorBase
from minitorch_dist.tensors.core.graph import record
from minitorch_dist.tensors.ops.linear_algebra.products import matmul
from minitorch_dist.tensors.ops.making import creation
from minitorch_dist.tensors.ops.shapes.layout import is_sparse
from minitorch_dist.tensors.sparse_array import SparseArray, refused


def sparse_coo_tensor(
    indices: Any, values: Any, size: Sequence[int] | None = None, *, dtype: Any = None,
    device: Any = None, requires_grad: bool = False, check_invariants: bool | None = None,
    is_coalesced: bool | None = None,
) -> Any:  # fmt: skip
    """A matrix that is 0 but at the places `indices`, (2, n), where it has `values`, (n)"""
    where = _array(indices)
    if where.ndim != 2 or len(where) != 2:
        raise refused(f"a tensor whose indices have the shape {tuple(where.shape)}, not (2, n),")
    numbers: Any = values if isinstance(values, TensorBase) else creation.tensor(values)
    if dtype is not None or device is not None:
        numbers = numbers.to(device=device, dtype=dtype)
    if numbers.array.shape != where.shape[1:]:
        raise refused(f"{where.shape[1]} places with values of the shape {numbers.array.shape}")
    rows, columns = where.astype(np.int64)
    shape = tuple(int(n) for n in size) if size is not None else tuple(int(n) + 1 for n in where.max(1))  # fmt: skip
    for place, n in ((rows, shape[0]), (columns, shape[1])):
        if place.size and (place.min() < 0 or place.max() >= n):
            raise RuntimeError(f"size is inconsistent with indices: for dim 0, size is {n} but found index {place.max()}")  # fmt: skip
    array = SparseArray((shape[0], shape[1]), rows, columns, numbers.array)
    array.is_ordered = bool(is_coalesced)
    made: Any = record(
        array, "SparseCooTensorWithDimsAndTensorsBackward0", (numbers, lambda g: g[rows, columns])
    )
    if requires_grad:
        made.requires_grad_()
    return made


def _array(thing: Any) -> Array:
    return thing.array if isinstance(thing, TensorBase) else np.asanyarray(thing)


def legacy(dtype: dtypes.dtype) -> Callable[..., Any]:
    """torch.sparse.FloatTensor and its like"""

    def construct(indices: Any, values: Any, size: Sequence[int] | None = None) -> Any:
        return sparse_coo_tensor(indices, values, size, dtype=dtype)

    return construct


def to_sparse(input: T, sparse_dim: int | None = None, **layout: Any) -> T:
    """The same matrix, of which only the numbers that are not 0 are stored"""
    x = input.array
    if type(x) is SparseArray:
        return input
    if x.ndim != 2 or sparse_dim not in (None, 2) or any(layout.values()):
        raise refused(f"to_sparse of {x.ndim} dimensions, and of other layouts than COO,")
    rows, columns = x.nonzero()
    array = SparseArray(x.shape, rows, columns, x[rows, columns])
    array.is_ordered = True
    there = x != 0
    return record(array, "ToSparseBackward0", (input, lambda g: np.where(there, g, 0)))


def _stored(input: TensorBase, what: str) -> SparseArray:
    if type(input.array) is not SparseArray:
        raise RuntimeError(f"{what} expected sparse coordinate tensor layout but got Strided")
    return input.array


def to_dense(input: T, dtype: Any = None, *, masked_grad: bool | None = None) -> T:
    """The whole matrix"""
    out = input
    if type(input.array) is SparseArray:
        out = record(input.array.dense(), "ToDenseBackward0", (input, lambda g: g))
    return out if dtype is None else out.to(dtype)  # type: ignore[attr-defined]


def coalesce(input: T) -> T:
    """Each place once, row by row; values of one place are added up"""
    x = _stored(input, "coalesce")
    if is_coalesced(input):
        return input
    return record(x.coalesced(), "CoalesceBackward0", (input, lambda g: g))


def is_coalesced(input: TensorBase) -> bool:
    """Whether the places are known to be in order, each once"""
    return _stored(input, "is_coalesced").is_ordered


def _indices(input: TensorBase) -> Any:
    x = _stored(input, "indices")
    return base.new(input.plain, np.stack([x.rows, x.columns]), input.storage.device)


def _values(input: T) -> T:
    x = _stored(input, "values")

    def widen(g: Array) -> Array:
        return x.like(g).dense()

    return record(x.values, "ValuesBackward0", (input, widen))


def indices(input: TensorBase) -> Any:
    """The places of the numbers, (2, n)"""
    _only_coalesced(input, "indices")
    return _indices(input)


def values(input: T) -> T:
    """The numbers that are stored, (n)"""
    _only_coalesced(input, "values")
    return _values(input)


def _only_coalesced(input: TensorBase, what: str) -> None:
    _stored(input, what)
    if not is_coalesced(input):
        raise RuntimeError(
            f"Cannot get {what} on an uncoalesced tensor, please call .coalesce() first"
        )


def nnz(input: TensorBase) -> int:
    """How many numbers are stored"""
    return len(_stored(input, "_nnz").values)


def sparse_dim(input: TensorBase) -> int:
    return 2 if is_sparse(input) else 0


def dense_dim(input: TensorBase) -> int:
    return 0 if is_sparse(input) else input.array.ndim


def mm(mat1: T, mat2: T) -> T:
    """A sparse matrix times a dense one"""
    return matmul(mat1, mat2)


def addmm(mat: Any, mat1: Any, mat2: Any, *, beta: float = 1.0, alpha: float = 1.0) -> Any:
    """beta · mat + alpha · (mat1 @ mat2), where mat1 is sparse"""
    return beta * mat + alpha * matmul(mat1, mat2)


def sum(input: Any, dim: Any = None, dtype: Any = None) -> Any:
    """The sum of all numbers. Over one dimension it is sparse in torch; here it is dense"""
    x = _stored(input, "sparse.sum")
    if dim is None:
        return _values(input).sum(dtype=dtype)
    over = (dim,) if isinstance(dim, int) else dim
    return to_dense(input).sum(tuple(n % x.ndim for n in over), dtype=dtype)


def softmax(input: T, dim: int, *, dtype: Any = None) -> T:
    """softmax of the numbers that are stored, row by row (or column by column); those that are not count as -inf"""
    x = _stored(input, "sparse.softmax")
    if not is_coalesced(input):
        return softmax(coalesce(input), dim, dtype=dtype)
    line = x.rows if dim % 2 else x.columns
    top = np.full(max(x.shape), -np.inf, x.values.dtype)
    np.maximum.at(top, line, x.values)
    powers = np.exp(x.values - top[line])
    share = powers / _by_line(powers, line)[line]

    def backward(g: Array) -> Array:
        own = g[x.rows, x.columns] * share
        return x.like(own - share * _by_line(own, line)[line]).dense()

    return record(x.like(share), "SparseSoftmaxBackward0", (input, backward))


def _by_line(values: Array, line: Array) -> Array:
    totals = np.zeros(int(line.max(initial=-1)) + 1, values.dtype)
    np.add.at(totals, line, values)
    return totals


def no_other_layout(*_: Any, **__: Any) -> Any:
    """Compressed rows and columns, which are not here"""
    raise refused(
        "a compressed layout (CSR, CSC, BSR, BSC); to_sparse() and sparse_coo_tensor make COO. It"
    )
