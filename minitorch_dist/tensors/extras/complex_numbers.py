"""Rarely used questions about complex numbers."""

from __future__ import annotations

import numpy as np

from minitorch_dist.tensors.core.base import T, TensorBase
from minitorch_dist.tensors.core.graph import result
from minitorch_dist.tensors.core.views import inplace
from minitorch_dist.tensors.ops.complex_numbers import conj


def conj_physical(input: T) -> T:
    """`conj`"""
    return conj(input)


def resolve_conj(input: T) -> T:
    """The tensor itself: no conjugate waits to be computed."""
    return input


def resolve_neg(input: T) -> T:
    """The tensor itself."""
    return input


def is_conj(input: TensorBase) -> bool:
    """False: conjugates are computed at once."""
    return False


def is_neg(input: TensorBase) -> bool:
    """False."""
    return False


def isreal(input: T) -> T:
    """Which elements have no imaginary part"""
    x = input.array
    return result(input, x.imag == 0 if x.dtype.kind == "c" else np.ones_like(x, bool))


conj_physical_ = inplace(conj_physical)
