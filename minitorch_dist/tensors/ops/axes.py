"""The same elements under a different order of dimensions: always views."""

from __future__ import annotations

from typing import Any

import numpy as np

from minitorch_dist.tensors.base import T
from minitorch_dist.tensors.ops.reductions import axis
from minitorch_dist.tensors.ops.reshaping import sizes
from minitorch_dist.tensors.views import view_of


def transpose(self: T, dim0: int, dim1: int) -> T:
    """Two dimensions exchanged."""
    x = self.array
    a, b = axis(dim0, x.ndim), axis(dim1, x.ndim)
    if not x.ndim:
        return view_of(self, x[...], "TransposeBackward0", lambda g: g)
    return view_of(self, x.swapaxes(a, b), "TransposeBackward0", lambda g: g.swapaxes(a, b))


def swapaxes(self: T, axis0: int, axis1: int) -> T:
    """`transpose`, under numpy's name."""
    return transpose(self, axis0, axis1)


def swapdims(self: T, dim0: int, dim1: int) -> T:
    """`transpose`, under another name."""
    return transpose(self, dim0, dim1)


def t(self: T) -> T:
    """The transpose of a matrix; vectors and numbers stay as they are."""
    x = self.array
    if x.ndim > 2:
        raise RuntimeError(f"t() expects a tensor with <= 2 dimensions, but self is {x.ndim}D")
    return view_of(self, x.T, "TBackward0", lambda g: g.T)


def permute(self: T, *dims: Any) -> T:
    """The dimensions in the order `dims`."""
    x = self.array
    given = () if dims in ((), ((),), ([],)) else sizes(dims, "permute")
    if len(given) != x.ndim:
        raise RuntimeError(
            "permute(sparse_coo): number of dimensions in the tensor input does not match the "
            f"length of the desired ordering of dimensions i.e. input.dim() = {x.ndim} is not "
            f"equal to len(dims) = {len(given)}"
        )
    order = tuple([axis(d, x.ndim) for d in given])
    if len(set(order)) != len(order):
        raise RuntimeError("permute(): duplicate dims are not allowed.")
    back = tuple(sorted(range(x.ndim), key=order.__getitem__))
    return view_of(self, x.transpose(order), "PermuteBackward0", lambda g: g.transpose(back))


def movedim(self: T, source: Any, destination: Any) -> T:
    """The dimensions `source` moved to the places `destination`; the others keep their order."""
    n = self.array.ndim
    given = [(d,) if isinstance(d, int) else tuple(d) for d in (source, destination)]
    if len(given[0]) != len(given[1]):
        raise RuntimeError(
            "movedim: Invalid source or destination dims: source "
            f"({list(given[0])} dims) should contain the same number of dims as destination "
            f"({list(given[1])} dims)"
        )
    here, there = ([axis(d, n) for d in dims] for dims in given)
    for what, dims in (("source", here), ("destination", there)):
        if len(set(dims)) != len(dims):
            raise RuntimeError(f"movedim: repeated dim in `{what}` ({dims})")
    order = [d for d in range(n) if d not in here]
    for to, which in sorted(zip(there, here, strict=True)):
        order.insert(to, which)
    return permute(self, tuple(order[:n]))


def moveaxis(self: T, source: Any, destination: Any) -> T:
    """`movedim`, under numpy's name."""
    return movedim(self, source, destination)


def T_(self: T) -> T:
    """`x.T`: all dimensions in reverse order."""
    return permute(self, tuple(range(self.array.ndim))[::-1])


def mT(self: T) -> T:
    """The last two dimensions exchanged: the transpose of each matrix of a batch."""
    if self.array.ndim < 2:
        raise RuntimeError(
            "tensor.mT is only supported on matrices or batches of matrices. Got "
            f"{self.array.ndim}-D tensor."
        )
    return transpose(self, -2, -1)


def H(self: T) -> T:
    """The transpose of a matrix (elements here are real, so there is nothing to conjugate)."""
    if self.array.ndim not in (0, 2):
        raise RuntimeError(
            f"tensor.H is only supported on matrices (2-D tensors). Got {self.array.ndim}-D tensor."
        )
    return (
        transpose(self, 0, 1)
        if self.array.ndim
        else view_of(self, self.array[...], "AliasBackward0", np.asarray)
    )


def adjoint(self: T) -> T:
    """`mT`: elements here are real."""
    if self.array.ndim < 2:
        raise RuntimeError(
            "tensor.adjoint() is only supported on matrices or batches of matrices. Got "
            f"{self.array.ndim}-D tensor."
        )
    return transpose(self, -2, -1)
