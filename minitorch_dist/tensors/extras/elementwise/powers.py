"""Powers and roots: those that are rarely used."""

from __future__ import annotations

from minitorch_dist.tensors import dtypes
from minitorch_dist.tensors.core.base import Number, T, TensorBase
from minitorch_dist.tensors.core.views import inplace
from minitorch_dist.tensors.ops.elementwise.powers import pow, reciprocal, rsqrt, sqrt, square
from minitorch_dist.tensors.promotion import (
    cast,
    result_type,
)


def float_power(input: T, exponent: T | Number) -> T:
    """input ** exponent, computed in float64 whatever their types are."""
    kind = dtypes.promote_types(result_type(input, exponent), dtypes.float64)
    base = cast(input, kind) if isinstance(input, TensorBase) else input
    power = cast(exponent, kind) if isinstance(exponent, TensorBase) else exponent
    return pow(base, power)


float_power_ = inplace(float_power)
square_ = inplace(square)
sqrt_ = inplace(sqrt)
rsqrt_ = inplace(rsqrt)
reciprocal_ = inplace(reciprocal)
