"""The same elements under a different order of dimensions: always views."""

from __future__ import annotations

from typing import Any

from minitorch_dist.tensors.core.base import Array, T
from minitorch_dist.tensors.core.operations import axis
from minitorch_dist.tensors.core.views import view_of
from minitorch_dist.tensors.ops.shapes.reshaping import sizes


def transpose(input: T, dim0: int, dim1: int) -> T:
    """Two dimensions exchanged."""
    x = input.array
    a, b = axis(dim0, x.ndim), axis(dim1, x.ndim)
    if not x.ndim:
        return view_of(input, x[...], "TransposeBackward0", lambda g: g)
    return view_of(input, x.swapaxes(a, b), "TransposeBackward0", lambda g: g.swapaxes(a, b))


def t(input: T) -> T:
    """The transpose of a matrix; vectors and numbers stay as they are."""
    x = input.array
    if x.ndim > 2:
        raise RuntimeError(f"t() expects a tensor with <= 2 dimensions, but self is {x.ndim}D")
    return view_of(input, x.T, "TBackward0", lambda g: g.T)


def permute(input: T, *order: Any, dims: Any = None) -> T:
    """The dimensions in the order `dims`."""
    x = input.array
    given = sizes(order, "permute", dims)
    if len(given) != x.ndim or len({axis(d, x.ndim) for d in given}) != x.ndim:
        raise RuntimeError(f"permute(): {given} is no order of {x.ndim} dimensions")
    out = x.transpose(given)
    return view_of(input, out, "PermuteBackward0", lambda g: _permute_back(g, given))


def _permute_back(grad: Array, order: tuple[int, ...]) -> Array:
    """The inverse of `transpose(order)`."""
    places = [d % grad.ndim for d in order]
    return grad.transpose(sorted(range(grad.ndim), key=places.__getitem__))


def T_(input: T) -> T:
    """`x.T`: all dimensions in reverse order."""
    return permute(input, tuple(range(input.array.ndim))[::-1])


def mT(input: T) -> T:
    """The last two dimensions exchanged: the transpose of each matrix of a batch."""
    if input.array.ndim == 1:
        raise RuntimeError("tensor.mT is only supported on matrices or batches of matrices")
    return transpose(input, -2, -1) if input.array.ndim else input
