"""Sums of products, named by letters: `einsum`.

An operand is an array whose axes have letters. The operands are contracted pair by pair from the left,
each pair as one batched matrix product:

    batch   letters of both that are still needed         x: batch, own of x, summed
    summed  letters of both that nobody needs any more    y: batch, summed, own of y

The gradient with respect to one operand is again such a sum. It is the result's gradient times all the other
operands, with that operand's letters as the output. The axes of an ellipsis get digits for letters, counted from the right.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any, overload

import numpy as np

from minitorch_dist.tensors import dtypes
from minitorch_dist.tensors.core.base import Array, T, TensorBase
from minitorch_dist.tensors.core.graph import record
from minitorch_dist.tensors.ops import autocasting
from minitorch_dist.tensors.ops.linear_algebra.products import packed, product, same_dtype

_DIGITS = "0123456789"

# ------------------------------------------------------------------------------- contracting arrays


def contract(operands: Sequence[tuple[Array, str]], out: str, sizes: dict[str, int]) -> Array:
    """The sum over all letters that are not in `out`. No letter occurs twice in one operand."""
    array, letters = operands[0]
    rest = operands[1:]
    for number, (other, others) in enumerate(rest):
        needed = set(out).union(*(more for _, more in rest[number + 1 :]))
        array, letters = _pair(array, letters, other, others, needed)
    array, letters = _summed(array, letters, set(out))
    array, shape = _placed(array, letters, out), tuple([sizes[c] for c in out])
    return array if array.shape == shape else np.broadcast_to(array, shape)


def _summed(array: Array, letters: str, needed: set[str]) -> tuple[Array, str]:
    over = tuple(i for i, letter in enumerate(letters) if letter not in needed)
    if not over:
        return array, letters
    wide = np.float32 if array.dtype in dtypes.HALVES else array.dtype
    total = np.asanyarray(array.sum(over, dtype=wide)).astype(array.dtype, copy=False)
    return total, "".join(c for c in letters if c in needed)


def _pair(x: Array, xs: str, y: Array, ys: str, needed: set[str]) -> tuple[Array, str]:
    """Two operands as one; letters that are not in `needed` are summed."""
    x, xs = _summed(x, xs, needed.union(ys))
    y, ys = _summed(y, ys, needed.union(xs))
    batch = "".join(c for c in xs if c in ys and c in needed)
    inside = "".join(c for c in xs if c in ys and c not in needed)
    left = "".join(c for c in xs if c not in ys)
    right = "".join(c for c in ys if c not in xs)
    letters = batch + left + right
    if not inside:  # nothing to sum: an element-wise product
        return _placed(x, xs, letters) * _placed(y, ys, letters), letters
    size = dict(zip(xs + ys, x.shape + y.shape, strict=True))
    count, rows, between, columns = (math.prod(size[c] for c in group) for group in (batch, left, inside, right))
    a = _placed(x, xs, batch + left + inside).reshape(count, rows, between)
    b = _placed(y, ys, batch + inside + right).reshape(count, between, columns)
    both = product(packed(a), packed(b)) if batch else product(a[0], b[0])
    return both.reshape([size[c] for c in letters]), letters


def _placed(array: Array, letters: str, among: str) -> Array:
    """The array with its axes in the order of `among`, and axes of size one for the others."""
    array = array.transpose([letters.index(c) for c in among if c in letters])
    return np.expand_dims(array, tuple(i for i, c in enumerate(among) if c not in letters))


# ---------------------------------------------------------------------------------- with gradients


@overload
def einsum(equation: str, operands: Sequence[T], /) -> T: ...
@overload
def einsum(equation: str, *operands: T) -> T: ...
@autocasting.lower
def einsum(equation: str, *operands: Any) -> Any:
    """`einsum("ij,jk->ik", a, b)`; also a list of operands. Axes of size one broadcast."""
    tensors = operands[0] if operands and isinstance(operands[0], (list, tuple)) else operands
    for t in tensors:
        if not isinstance(t, TensorBase):
            raise TypeError(f"einsum(): operands must be tensors, not {type(t).__name__}")
    if not tensors:
        raise ValueError("einsum(): must specify the equation string and at least one operand")
    terms, out = spelled(equation, tuple(t.array.ndim for t in tensors))
    same_dtype(*tensors)
    return _sum_of_products(tensors, terms, out)


def _sum_of_products(tensors: Sequence[T], terms: Sequence[str], out: str) -> T:
    sizes = _sizes(tensors, terms)
    plain = [_squeezed(t.array, term, sizes) for t, term in zip(tensors, terms, strict=True)]
    array = contract(plain, out, sizes)
    if any(np.may_share_memory(array, t.array) for t in tensors):
        array = array.copy()

    def vjp(k: int) -> Callable[[Array], Array]:
        others, (_, kept), term = plain[:k] + plain[k + 1 :], plain[k], terms[k]
        return lambda g: _placed(contract([(g, out), *others], kept, sizes), kept, term)

    inputs: list[Any] = [
        (t, vjp(k), *(other for j, other in enumerate(tensors) if j != k)) for k, t in enumerate(tensors)
    ]
    made: T = record(array, "EinsumBackward0", inputs[0], *inputs[1:])
    return made


def _sizes(tensors: Sequence[TensorBase], terms: Sequence[str]) -> dict[str, int]:
    """How long the axis of each letter is."""
    sizes: dict[str, int] = {}
    for number, (t, term) in enumerate(zip(tensors, terms, strict=True)):
        for letter, n in zip(term, t.array.shape, strict=True):
            seen = sizes.setdefault(letter, n)
            if seen == 1:
                sizes[letter] = n
            elif n not in (1, seen):
                raise RuntimeError(f"einsum(): {letter} is {seen} long, and {n} in operand {number}")
    return sizes


def _squeezed(array: Array, letters: str, sizes: dict[str, int]) -> tuple[Array, str]:
    """Without the axes of size one that are broadcast."""
    broad = [i for i, n in enumerate(array.shape) if n == 1 and sizes[letters[i]] != 1]
    kept = "".join(c for i, c in enumerate(letters) if i not in broad)
    return (array.squeeze(tuple(broad)) if broad else array), kept


# ------------------------------------------------------------------------------ reading an equation


@lru_cache(maxsize=256)
def spelled(equation: str, ranks: tuple[int, ...]) -> tuple[tuple[str, ...], str]:
    """The letters of each operand and of the output."""
    left, arrow, out = equation.replace(" ", "").partition("->")
    terms = left.split(",")
    if len(terms) != len(ranks):
        raise RuntimeError(f'einsum(): "{equation}" names {len(terms)} operands, and {len(ranks)} were given')
    whole = tuple(_spread(term, rank) for term, rank in zip(terms, ranks, strict=True))
    if not arrow:
        out = "..." + "".join(sorted(c for c in set(left) if c.isalpha() and left.count(c) == 1))
    widest = max((sum(c in _DIGITS for c in term) for term in whole), default=0)
    out = out.replace("...", _DIGITS[len(_DIGITS) - widest :])
    if len(set(out)) < len(out) or not set(out) <= set("".join(whole)):
        raise RuntimeError(f'einsum(): in "{equation}" a letter of the output is in no operand, or appears twice')
    return whole, out


def _spread(term: str, rank: int) -> str:
    """A term with digits in place of its ellipsis, so that operands broadcast."""
    letters = term.replace("...", "", 1)
    hidden = rank - len(letters)
    if not (letters.isalpha() or not letters) or hidden < 0 or (hidden and "..." not in term):
        raise RuntimeError(f'einsum(): the subscripts "{term}" do not fit an operand of {rank} dimensions')
    if len(set(letters)) < len(letters):
        raise RuntimeError(f'einsum(): "{term}" names an axis twice; take the diagonal of this operand before')
    return term.replace("...", _DIGITS[len(_DIGITS) - hidden :])
