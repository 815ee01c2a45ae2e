"""Products of vectors, matrices and batches of matrices.

    out = x @ y          grad x = grad @ yᵀ          grad y = xᵀ @ grad

Everything ends in `product`, which hands floats to BLAS, computes half precision in float32 (rounded
once), and leaves integers to numpy's own loops.
"""

from __future__ import annotations

import math

import numpy as np

from minitorch_dist.tensors import dtypes, flops
from minitorch_dist.tensors.core.base import Array, T, TensorBase
from minitorch_dist.tensors.core.graph import record
from minitorch_dist.tensors.core.operations import sum_to
from minitorch_dist.tensors.core.without_warnings import without_warnings
from minitorch_dist.tensors.ops import autocasting
from minitorch_dist.tensors.ops.elementwise.copying import row_major
from minitorch_dist.tensors.promotion import not_implemented, promote


def product(x: Array, y: Array, name: str = "") -> Array:
    """x @ y for arrays of one dtype with at least two axes each. `name`: under which it is counted."""
    if x.dtype.char in "fd":
        if flops.counters.on:
            _count(x, y, name)
        if x.ndim == 2 and y.ndim == 2:
            return without_warnings(x.dot, y)  # less overhead than np.matmul
        return np.asanyarray(without_warnings(np.matmul, packed(x), packed(y)))
    if x.dtype in dtypes.HALVES:
        return product(x.astype(np.float32), y.astype(np.float32), name).astype(x.dtype)
    if x.dtype.kind == "b":
        raise not_implemented("addmm_impl_cpu_", x)
    if flops.counters.on:
        _count(x, y, name)
    return np.asanyarray(np.matmul(x, y))


def _count(x: Array, y: Array, name: str) -> None:
    batch = np.broadcast_shapes(x.shape[:-2], y.shape[:-2])
    kind = name or ("aten.bmm" if batch else "aten.mm")
    flops.multiplied(kind, (*batch, x.shape[-2], y.shape[-1]), x.shape[-1])


def packed(x: Array) -> Array:
    """A copy, if the matrices lie in memory in a way that BLAS cannot read.

    np.matmul would then fall back to a plain loop. (This happens to expanded gradients, for example.)
    """
    if (x.size and x.itemsize not in x.strides[-2:]) or 0 in x.strides[-2:]:
        return row_major(x)
    return x


def same_dtype(*tensors: TensorBase) -> None:
    """Products do not promote."""
    for t in tensors[1:]:
        if t.array.dtype != tensors[0].array.dtype:
            raise RuntimeError(f"the factors must have the same dtype, but have {tensors[0].dtype} and {t.dtype}")


def check_rank(t: TensorBase, rank: int, name: str, what: str) -> None:
    if t.array.ndim != rank:
        raise RuntimeError(f"{name}: {what}, got a tensor of shape {list(t.array.shape)}")


def misfit(x: tuple[int, ...], y: tuple[int, ...]) -> RuntimeError:
    """torch's sentence for inner sizes that differ."""
    a = f"{math.prod(x[:-1])}x{x[-1]}" if len(y) < 3 else "x".join(map(str, x))
    return RuntimeError(f"mat1 and mat2 shapes cannot be multiplied ({a} and {'x'.join(map(str, y))})")


# ------------------------------------------------------------------------------------------ products


@autocasting.lower
def matmul(input: T, other: T) -> T:
    """The product of vectors, matrices, or batches of matrices (which broadcast).

    Args:
        input: The left factor.
        other: The right factor.

    Returns:
        The product.

    Raises:
        RuntimeError: The shapes do not fit.

    Example:
        >>> torch.matmul(torch.ones(2, 3), torch.ones(3)).tolist()
        [3.0, 3.0]
    """
    return _matmul(input, other)


def _matmul(self: T, other: T) -> T:
    if not (isinstance(self, TensorBase) and isinstance(other, TensorBase)):
        raise TypeError(f"unsupported operand types for @: {type(self).__name__} and {type(other).__name__}")
    x, y = self.array, other.array
    if x.dtype is not y.dtype:
        same_dtype(self, other)
    if x.ndim == 2 and y.ndim == 2:
        return _mm(self, other)
    if not (x.ndim and y.ndim):
        raise RuntimeError(f"both arguments to matmul need to be at least 1D, but they are {x.ndim}D and {y.ndim}D")
    if x.shape[-1] != y.shape[-2 if y.ndim > 1 else 0]:
        raise misfit(x.shape, y.shape)
    if x.ndim == 1 and y.ndim == 1:
        return dot(self, other)
    return _batched(self, other)


def _mm(self: T, other: T) -> T:
    x, y = self.array, other.array
    if x.shape[1] != y.shape[0]:
        raise misfit(x.shape, y.shape)
    return record(
        product(x, y), "MmBackward0", (self, lambda g: product(g, y.T), other), (other, lambda g: product(x.T, g), self)
    )


def _batched(self: T, other: T) -> T:
    """Any other ranks: vectors become matrices of one row or column for the length of the product."""
    x, y = self.array, other.array
    rows = x if x.ndim > 1 else x[None, :]
    columns = y if y.ndim > 1 else y[:, None]
    if columns.ndim == 2:  # one matrix for all: a single large product
        rows = rows.reshape(math.prod(rows.shape[:-1]), rows.shape[-1])
    try:
        out = product(rows, columns)
    except ValueError:  # the inner sizes were checked, so it is the batches
        raise misfit(x.shape, y.shape) from None
    folded = columns.ndim == 2
    shape, xs, ys = out.shape, x.shape, y.shape

    def grad_x(g: Array) -> Array:
        matrix = y if y.ndim > 1 else y[:, None]
        full = product(g.reshape(shape), matrix.swapaxes(-1, -2))
        return full.reshape(xs) if folded else sum_to(full, xs if len(xs) > 1 else (1, *xs)).reshape(xs)

    def grad_y(g: Array) -> Array:
        matrix = x.reshape(shape[0], xs[-1]) if folded else x if x.ndim > 1 else x[None, :]
        full = product(matrix.swapaxes(-1, -2), g.reshape(shape))
        return sum_to(full, ys if len(ys) > 1 else (*ys, 1)).reshape(ys)

    final = xs[:-2] if folded else out.shape[:-2]
    final += xs[-2:-1] if len(xs) > 1 else ()
    final += ys[-1:] if len(ys) > 1 else ()
    name = "MvBackward0" if x.ndim == 2 and y.ndim == 1 else "MatmulBackward0"
    mine, theirs = (self, grad_x, other), (other, grad_y, self)
    if x.ndim > 2 or (x.ndim == 1 and y.ndim == 2):  # where torch folds, `other` collects first
        return record(out.reshape(final), name, theirs, mine)
    return record(out.reshape(final), name, mine, theirs)


@autocasting.lower
def mm(input: T, mat2: T) -> T:
    """Matrix times matrix; nothing else."""
    check_rank(input, 2, "mm", "self must be a matrix")
    check_rank(mat2, 2, "mm", "mat2 must be a matrix")
    same_dtype(input, mat2)
    return _mm(input, mat2)


@autocasting.lower
def bmm(input: T, mat2: T) -> T:
    """Matrix times matrix, pair by pair along the first axis."""
    check_rank(input, 3, "bmm", "batch1 must be a 3D tensor")
    check_rank(mat2, 3, "bmm", "batch2 must be a 3D tensor")
    same_dtype(input, mat2)
    x, y = input.array, mat2.array
    if y.shape[:2] != (x.shape[0], x.shape[2]):
        raise misfit(x.shape, y.shape)
    return record(
        product(x, y),
        "BmmBackward0",
        (input, lambda g: product(g, y.swapaxes(1, 2)), mat2),
        (mat2, lambda g: product(x.swapaxes(1, 2), g), input),
    )


def dot(input: T, tensor: T) -> T:
    """The sum of the products of two vectors' elements."""
    x, y = input.array, tensor.array
    if x.ndim != 1 or y.ndim != 1:
        raise RuntimeError(f"1D tensors expected, but got {x.ndim}D and {y.ndim}D tensors")
    same_dtype(input, tensor)
    if x.shape != y.shape:
        raise misfit(x.shape, y.shape)
    out = product(x[None, :], y[:, None]).reshape(())
    return record(out, "DotBackward0", (input, lambda g: g * y, tensor), (tensor, lambda g: g * x, input))


def outer(input: T, vec2: T) -> T:
    """All products of an element of one vector with an element of another."""
    check_rank(input, 1, "outer", "vectors expected")
    check_rank(vec2, 1, "outer", "vectors expected")
    input, vec2 = promote(input, vec2)
    x, y = input.array, vec2.array
    out = x[:, None] * y
    return record(
        out,
        "MulBackward0",
        (input, lambda g: product(g, y[:, None])[:, 0], vec2),
        (vec2, lambda g: product(x[None, :], g)[0], input),
    )
