"""Powers and roots: those that are rarely used."""

from __future__ import annotations

import numpy as np

from minitorch_dist.tensors import dtypes
from minitorch_dist.tensors.core.base import Number, T, TensorBase
from minitorch_dist.tensors.core.graph import record
from minitorch_dist.tensors.core.operations import with_number
from minitorch_dist.tensors.core.views import inplace
from minitorch_dist.tensors.ops.elementwise.powers import pow, reciprocal, sqrt, square
from minitorch_dist.tensors.promotion import (
    cast,
    floating,
    result_type,
)


def float_power(input: T, exponent: T | Number) -> T:
    """input ** exponent, computed in float64 whatever their types are."""
    kind = dtypes.promote_types(result_type(input, exponent), dtypes.float64)
    base = cast(input, kind) if isinstance(input, TensorBase) else input
    power = cast(exponent, kind) if isinstance(exponent, TensorBase) else exponent
    return pow(base, power)


def rsqrt(input: T) -> T:
    """1 / sqrt(input)"""
    x = floating(input)
    out = with_number(lambda x, one: one / np.sqrt(x), x.array, 1)
    return record(
        out, "RsqrtBackward0", (x, lambda g: g * (out * out * out) / -2), reads_result=True
    )


float_power_ = inplace(float_power)
square_ = inplace(square)
sqrt_ = inplace(sqrt)
rsqrt_ = inplace(rsqrt)
reciprocal_ = inplace(reciprocal)
