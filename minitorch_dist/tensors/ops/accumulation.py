"""Adding to places that may be named twice: the gradient of reading by index.

places  7 2 7 7        2 | 7 7 7
values  a b c d   ->   b | a c d   ->   target[2] += b, target[7] += a + c + d
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from minitorch_dist.tensors import dtypes
from minitorch_dist.tensors.core.base import Array


def add_at(target: Array, where: tuple[Any, ...], values: Array) -> None:
    """`target[where] += values`, where a place that is named twice gets both values.

    `where` holds index arrays and full slices, as in numpy's advanced indexing.
    """
    if target.dtype not in dtypes.HALVES:
        np.add.at(target, where, values)
        return
    sums = np.zeros(target.shape, np.float32, like=target)  # halves round once
    np.add.at(sums, where, values.astype(np.float32))
    target += sums.astype(target.dtype)


def zeros_around(x: Array, where: Any, twice: bool = False) -> Callable[[Array], Array]:
    """The gradient of reading `x[where]`, which may name a place `twice`: zeros at the other places."""
    shape, dtype = x.shape, x.dtype

    def widen(grad: Array) -> Array:
        whole = np.zeros(shape, dtype, like=grad)
        if twice:
            add_at(whole, where, grad)
        else:
            whole[where] = grad
        return whole

    return widen


def sum_groups(places: Array, values: Array) -> tuple[Array, Array]:
    """The distinct `places` in order, and for each the sum of its rows of `values`, halves in float32.

    The places are sorted, so that equal ones stand together, and `np.add.reduceat` adds up each group.
    """
    if values.dtype in dtypes.HALVES:
        values = values.astype(np.float32)
    if not len(places):
        return places, values
    order = places.argsort(kind="stable")
    ordered = places.take(order)
    starts = np.flatnonzero(np.r_[True, ordered[1:] != ordered[:-1]])
    sums = np.add.reduceat(values.take(order, 0), starts, axis=0, dtype=values.dtype)
    return ordered[starts].astype(np.intp), sums
