"""Sums of products, named by letters: `einsum`, and what is a special case of it.

An operand is an array whose axes have labels. The operands are contracted pair by pair from the left,
each pair as one batched matrix product:

    batch   labels of both that are still needed         x: batch, own of x, summed
    summed  labels of both that nobody needs any more    y: batch, summed, own of y

The gradient with respect to one operand is again such a sum. It is the result's gradient times all the other
operands, with that operand's labels as the output.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from minitorch_dist.tensors import dtypes
from minitorch_dist.tensors.core.base import Array, T, TensorBase
from minitorch_dist.tensors.core.graph import record
from minitorch_dist.tensors.ops import autocasting
from minitorch_dist.tensors.ops.linear_algebra import subscripts
from minitorch_dist.tensors.ops.linear_algebra.products import packed, product, same_dtype
from minitorch_dist.tensors.ops.linear_algebra.subscripts import Labels

# ------------------------------------------------------------------------------- contracting arrays


def contract(operands: Sequence[tuple[Array, Labels]], out: Labels, sizes: dict[int, int]) -> Array:
    """The sum over all labels that are not in `out`. No label occurs twice in one operand."""
    array, labels = operands[0]
    rest = list(operands[1:])
    for number, (other, others) in enumerate(rest):
        needed = set(out).union(*(set(more) for _, more in rest[number + 1 :]))
        array, labels = _pair(array, labels, other, others, needed)
    array, labels = _summed(array, labels, set(out))
    array = array.transpose([labels.index(label) for label in out if label in labels])
    missing = tuple(i for i, label in enumerate(out) if label not in labels)
    if missing:
        array = np.expand_dims(array, missing)
        array = np.broadcast_to(array, [sizes[label] for label in out])
    return array


def _summed(array: Array, labels: Labels, needed: set[int]) -> tuple[Array, Labels]:
    over = tuple(i for i, label in enumerate(labels) if label not in needed)
    if not over:
        return array, labels
    wide = np.float32 if array.dtype in dtypes.HALVES else array.dtype
    total = np.asanyarray(array.sum(over, dtype=wide)).astype(array.dtype, copy=False)
    return total, tuple(label for label in labels if label in needed)


def _pair(x: Array, xs: Labels, y: Array, ys: Labels, needed: set[int]) -> tuple[Array, Labels]:
    """Two operands as one; labels that are not in `needed` are summed."""
    x, xs = _summed(x, xs, needed.union(ys))
    y, ys = _summed(y, ys, needed.union(xs))
    batch = tuple(label for label in xs if label in ys and label in needed)
    inside = tuple(label for label in xs if label in ys and label not in needed)
    left = tuple(label for label in xs if label not in ys)
    right = tuple(label for label in ys if label not in xs)
    if not inside:  # nothing to sum: an element-wise product
        labels = (*batch, *left, *right)
        return _placed(x, xs, labels) * _placed(y, ys, labels), labels
    size = {label: x.shape[i] for i, label in enumerate(xs)}
    size.update({label: y.shape[i] for i, label in enumerate(ys)})

    def shape(*groups: Labels) -> list[int]:
        return [int(np.prod([size[label] for label in group], dtype=int)) for group in groups]

    a = x.transpose([xs.index(label) for label in (*batch, *left, *inside)])
    b = y.transpose([ys.index(label) for label in (*batch, *inside, *right)])
    whole = shape(batch)[0], *shape(left, inside), *shape(right)
    if batch:
        a, b = a.reshape(whole[:3]), b.reshape(whole[0], whole[2], whole[3])
        both = product(packed(a), packed(b))
    else:
        both = product(a.reshape(whole[1:3]), b.reshape(whole[2:]))
    labels = (*batch, *left, *right)
    return both.reshape([size[label] for label in labels]), labels


def _placed(array: Array, labels: Labels, among: Labels) -> Array:
    """The array with its axes in the order of `among`, and axes of size one for the others."""
    array = array.transpose([labels.index(label) for label in among if label in labels])
    return np.expand_dims(array, tuple(i for i, label in enumerate(among) if label not in labels))


def _diagonal(array: Array, labels: Labels) -> tuple[Array, Labels]:
    """A read-only look at the elements whose repeated labels have equal indices."""
    distinct = tuple(dict.fromkeys(labels))
    if len(distinct) < len(labels):
        array = np.einsum(array, list(labels), list(distinct))  # a view
    return array, distinct


# ---------------------------------------------------------------------------------- with gradients


def sum_of_products(tensors: Sequence[T], labels: Sequence[Labels], out: Labels) -> T:
    """The operation itself, with labels as numbers. Axes of size one broadcast."""
    sizes: dict[int, int] = {}
    for number, (t, names) in enumerate(zip(tensors, labels, strict=True)):
        own: dict[int, int] = {}
        for n, label in zip(t.array.shape, names, strict=True):
            if own.setdefault(label, n) != n:
                raise RuntimeError(
                    f"einsum(): subscript {subscripts.name(label)} is repeated for operand {number} but the "
                    f"sizes don't match, {n} != {own[label]}"
                )
        for label, n in own.items():
            seen = sizes.setdefault(label, n)
            if seen == 1:
                sizes[label] = n
            elif n not in (1, seen):
                raise RuntimeError(
                    f"einsum(): subscript {subscripts.name(label)} has size {n} for operand {number} which "
                    f"does not broadcast with previously seen size {seen}"
                )
    plain = [_simple(t.array, names, sizes) for t, names in zip(tensors, labels, strict=True)]
    array = contract(plain, out, sizes)
    if any(np.may_share_memory(array, t.array) for t in tensors):
        array = array.copy()

    def vjp(k: int) -> Callable[[Array], Array]:
        names, shape = labels[k], tensors[k].array.shape
        others = plain[:k] + plain[k + 1 :]
        kept = plain[k][1]

        def gradient(g: Array) -> Array:
            g = contract([(g, out), *others], kept, sizes)
            return _unsimple(g, kept, names, shape)

        return gradient

    inputs: list[Any] = [
        (t, vjp(k), *(other for j, other in enumerate(tensors) if j != k))
        for k, t in enumerate(tensors)
    ]
    made: T = record(array, "EinsumBackward0", inputs[0], *inputs[1:])
    return made


def _simple(array: Array, labels: Labels, sizes: dict[int, int]) -> tuple[Array, Labels]:
    """Each label once, and none for axes of size one that are broadcast."""
    array, labels = _diagonal(array, labels)
    broad = tuple(i for i, n in enumerate(array.shape) if n == 1 and sizes[labels[i]] != 1)
    if broad:
        array = array.squeeze(broad)
        labels = tuple(label for i, label in enumerate(labels) if i not in broad)
    return array, labels


def _unsimple(g: Array, kept: Labels, labels: Labels, shape: tuple[int, ...]) -> Array:
    """The gradient of what `_simple` was given."""
    distinct = tuple(dict.fromkeys(labels))
    g = np.expand_dims(g, tuple(i for i, label in enumerate(distinct) if label not in kept))
    if len(distinct) == len(labels):
        return g
    whole = np.zeros(shape, g.dtype, like=g)
    window = np.einsum(whole, list(labels), list(distinct))  # a writable view of the diagonal
    window[...] = g
    return whole


# ------------------------------------------------------------------------------------- the functions


@autocasting.lower
def einsum(*args: Any) -> Any:
    """`einsum("ij,jk->ik", a, b)`; also a list of operands, or sublists of labels."""
    return _einsum(*args)


def _einsum(*args: Any) -> Any:
    if not args or (isinstance(args[0], str) and len(args) < 2):
        raise ValueError(
            "einsum(): must specify the equation string and at least one operand, or at least one "
            "operand and its subscripts list"
        )
    if isinstance(args[0], str):
        tensors: Sequence[Any] = args[1] if isinstance(args[1], (list, tuple)) else args[1:]
        terms, output = subscripts.equation(args[0])
    else:
        tensors, terms, output = subscripts.sublists(args)
    for t in tensors:
        if not isinstance(t, TensorBase):
            raise TypeError(f"einsum(): operands must be tensors, not {type(t).__name__}")
    same_dtype(*tensors)
    labels, out = subscripts.resolve(terms, output, tuple(t.array.ndim for t in tensors))
    return sum_of_products(tensors, labels, out)
