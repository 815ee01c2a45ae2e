"""The same elements under a different order of dimensions: always views."""

from __future__ import annotations

from typing import Any

from minitorch_dist.tensors.core.base import Array, T
from minitorch_dist.tensors.core.operations import axis
from minitorch_dist.tensors.core.views import view_of
from minitorch_dist.tensors.ops.complex_numbers import conj
from minitorch_dist.tensors.ops.shapes.reshaping import sizes


def transpose(input: T, dim0: int, dim1: int) -> T:
    """Two dimensions exchanged."""
    x = input.array
    a, b = axis(dim0, x.ndim), axis(dim1, x.ndim)
    if not x.ndim:
        return view_of(input, x[...], "TransposeBackward0", lambda g: g)
    return view_of(input, x.swapaxes(a, b), "TransposeBackward0", lambda g: g.swapaxes(a, b))


def swapaxes(input: T, axis0: int, axis1: int) -> T:
    """`transpose`, under numpy's name."""
    return transpose(input, axis0, axis1)


def swapdims(input: T, dim0: int, dim1: int) -> T:
    """`transpose`, under another name."""
    return transpose(input, dim0, dim1)


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
    if len(given) != x.ndim:
        raise RuntimeError(
            "permute(sparse_coo): number of dimensions in the tensor input does not match the "
            f"length of the desired ordering of dimensions i.e. input.dim() = {x.ndim} is not "
            f"equal to len(dims) = {len(given)}"
        )
    try:
        out = x.transpose(given)
    except ValueError:
        if len({axis(d, x.ndim) for d in given}) != len(given):
            raise RuntimeError("permute(): duplicate dims are not allowed.") from None
        raise
    return view_of(input, out, "PermuteBackward0", lambda g: _permute_back(g, given))


def _permute_back(grad: Array, order: tuple[int, ...]) -> Array:
    """The inverse of `transpose(order)`."""
    places = [d % grad.ndim for d in order]
    return grad.transpose(sorted(range(grad.ndim), key=places.__getitem__))


def movedim(input: T, source: Any, destination: Any) -> T:
    """The dimensions `source` moved to the places `destination`; the others keep their order."""
    n = input.array.ndim
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
    if not n:
        return view_of(input, input.array, "AliasBackward0", lambda g: g)
    order = [d for d in range(n) if d not in here]
    for to, which in sorted(zip(there, here, strict=True)):
        order.insert(to, which)
    return permute(input, tuple(order))


def moveaxis(input: T, source: Any, destination: Any) -> T:
    """`movedim`, under numpy's name."""
    return movedim(input, source, destination)


def T_(input: T) -> T:
    """`x.T`: all dimensions in reverse order."""
    return permute(input, tuple(range(input.array.ndim))[::-1])


def mT(input: T) -> T:
    """The last two dimensions exchanged: the transpose of each matrix of a batch."""
    return _of_matrices(input, "tensor.mT")


def adjoint(input: T) -> T:
    """`mT`, with each element conjugated"""
    return conj(_of_matrices(input, "tensor.adjoint()"))


def _of_matrices(input: T, name: str) -> T:
    if input.array.ndim == 1:
        raise RuntimeError(
            f"{name} is only supported on matrices or batches of matrices. Got 1-D tensor."
        )
    return transpose(input, -2, -1) if input.array.ndim else input


def H(input: T) -> T:
    """The transpose of one matrix, with each element conjugated"""
    if input.array.ndim not in (0, 2):
        raise RuntimeError(
            f"tensor.H is only supported on matrices (2-D tensors). Got {input.array.ndim}-D tensor."
        )
    return conj(transpose(input, 0, 1) if input.array.ndim else input)
