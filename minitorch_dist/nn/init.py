"""Filling parameters before training starts. Each function writes in place and returns the tensor.

The question behind most of them: with which variance do signals keep their size from layer to
layer? Xavier keeps it forward and backward on average (Glorot &
Bengio 2010, AISTATS), Kaiming keeps one of the two and allows for the rectifier (He et al. 2015,
doi:10.1109/ICCV.2015.123).
"""

from __future__ import annotations

import math
import warnings
from typing import Any, TypeVar

import numpy as np

from minitorch_dist.inventory import not_offered
from minitorch_dist.tensors.autograd import grad_modes
from minitorch_dist.tensors.core import base
from minitorch_dist.tensors.core.base import Array, TensorBase
from minitorch_dist.tensors.core.views import bump, check_writable
from minitorch_dist.tensors.generator import Generator
from minitorch_dist.tensors.makers import creation, random

V = TypeVar("V", bound=TensorBase)


def calculate_gain(nonlinearity: str, param: float | None = None) -> float:
    """By how much weights must be larger because this nonlinearity follows them."""
    if nonlinearity == "leaky_relu":
        slope = 0.01 if param is None else param
        return math.sqrt(2 / (1 + slope**2))
    gains = {"linear": 1, "sigmoid": 1, "tanh": 5 / 3, "relu": math.sqrt(2), "selu": 3 / 4}
    if nonlinearity.startswith("conv"):
        return 1
    if nonlinearity not in gains:
        raise ValueError(f"Unsupported nonlinearity {nonlinearity}")
    return gains[nonlinearity]


# ------------------------------------------------------------------------------ given distributions


def uniform_(tensor: V, a: float = 0.0, b: float = 1.0, generator: Generator | None = None) -> V:
    """Uniform on [a, b)."""
    with grad_modes.no_grad():
        return tensor.uniform_(a, b, generator=generator)  # type: ignore[attr-defined, no-any-return]


def normal_(tensor: V, mean: float = 0.0, std: float = 1.0, generator: Generator | None = None) -> V:
    with grad_modes.no_grad():
        return tensor.normal_(mean, std, generator=generator)  # type: ignore[attr-defined, no-any-return]


def trunc_normal_(
    tensor: V, mean: float = 0.0, std: float = 1.0, a: float = -2.0, b: float = 2.0, generator: Generator | None = None
) -> V:
    """Normal, with values outside [a, b] drawn again.

    Where most of the bell lies inside, it is drawn and what falls outside is rejected; where only a
    tail does, points of [a, b] are drawn and accepted in proportion to the density.
    """
    if mean < a - 2 * std or mean > b + 2 * std:
        warnings.warn(
            "mean is more than 2 std from [a, b] in nn.init.trunc_normal_. The distribution of "
            "values may be incorrect.",
            stacklevel=2,
        )
    inside = _normal_cdf((b - mean) / std) - _normal_cdf((a - mean) / std)
    peak = (max(a, min(mean, b)) - mean) / std
    draw = creation.empty_like(tensor)

    def propose() -> tuple[Array, Array]:
        if inside > 0.3:
            x = normal_(draw, mean, std, generator).array.copy()
            return x, (x >= x.dtype.type(a)) & (x <= x.dtype.type(b))
        x = uniform_(draw, a, b, generator).array.copy()
        z = (x.astype(np.float64) - mean) / std
        level = uniform_(draw, 0, 1, generator).array.astype(np.float64)
        return x, level < np.exp((peak**2 - z**2) / 2)

    values, good = propose()
    while not good.all():
        again, accepted = propose()
        values = np.where(good, values, again)
        good |= accepted
    return _store(tensor, values)


def _normal_cdf(x: float) -> float:
    return (1 + math.erf(x / math.sqrt(2))) / 2


def constant_(tensor: V, val: float) -> V:
    return _filled(tensor, val)  # type: ignore[no-any-return]


def ones_(tensor: V) -> V:
    return _filled(tensor, 1)  # type: ignore[no-any-return]


def zeros_(tensor: V) -> V:
    return _filled(tensor, 0)  # type: ignore[no-any-return]


# --------------------------------------------------------------------------- variance from the shape


def _calculate_fan_in_and_fan_out(tensor: Any) -> tuple[int, int]:
    """How many values enter one output of this weight, and how many outputs one input feeds."""
    shape = tuple(tensor.shape)
    if len(shape) < 2:
        raise ValueError("Fan in and fan out can not be computed for tensor with fewer than 2 dimensions")
    field = math.prod(shape[2:])
    return shape[1] * field, shape[0] * field


def _calculate_correct_fan(tensor: TensorBase, mode: str) -> int:
    modes = ["fan_in", "fan_out"]
    if mode.lower() not in modes:
        raise ValueError(f"Mode {mode.lower()} not supported, please use one of {modes}")
    return _calculate_fan_in_and_fan_out(tensor)[modes.index(mode.lower())]


def xavier_uniform_(tensor: V, gain: float = 1.0, generator: Generator | None = None) -> V:
    """Variance gain² · 2 / (fan_in + fan_out), uniform."""
    bound = gain * math.sqrt(6 / sum(_calculate_fan_in_and_fan_out(tensor)))
    return uniform_(tensor, -bound, bound, generator)


def xavier_normal_(tensor: V, gain: float = 1.0, generator: Generator | None = None) -> V:
    std = gain * math.sqrt(2 / sum(_calculate_fan_in_and_fan_out(tensor)))
    return normal_(tensor, 0, std, generator)


def kaiming_uniform_(
    tensor: V, a: float = 0, mode: str = "fan_in", nonlinearity: str = "leaky_relu", generator: Generator | None = None
) -> V:
    """Variance gain² / fan, uniform. `a` is the slope of the leaky rectifier that follows."""
    if _is_empty(tensor):
        return tensor
    bound = math.sqrt(3) * calculate_gain(nonlinearity, a)
    bound /= math.sqrt(_calculate_correct_fan(tensor, mode))
    return uniform_(tensor, -bound, bound, generator)


def kaiming_normal_(
    tensor: V, a: float = 0, mode: str = "fan_in", nonlinearity: str = "leaky_relu", generator: Generator | None = None
) -> V:
    if _is_empty(tensor):
        return tensor
    std = calculate_gain(nonlinearity, a) / math.sqrt(_calculate_correct_fan(tensor, mode))
    return normal_(tensor, 0, std, generator)


def _is_empty(tensor: Any) -> bool:
    if tensor.numel():
        return False
    warnings.warn("Initializing zero-element tensors is a no-op", stacklevel=3)
    return True


# ----------------------------------------------------------------------------------------- matrices


def orthogonal_(tensor: V, gain: float = 1, generator: Generator | None = None) -> V:
    """Orthogonal rows or columns, whichever are fewer, uniformly among all such matrices.

    The Q of a random matrix, with signs fixed so that no orientation is preferred
    (arXiv:math-ph/0609050).
    """
    shape = tensor.array.shape
    if len(shape) < 2:
        raise ValueError("Only tensors with 2 or more dimensions are supported")
    if tensor.array.size == 0:
        return tensor
    flat = (shape[0], tensor.array.size // shape[0])
    draw = random.randn(max(flat), min(flat), generator=generator).array.astype(np.float64)
    q, r = np.linalg.qr(draw)
    q *= np.sign(np.diag(r))
    return _store(tensor, gain * (q.T if flat[0] < flat[1] else q).reshape(shape))


def _store(tensor: V, values: Any) -> V:
    with grad_modes.no_grad():
        check_writable(tensor)
    tensor.array[...] = base.new(tensor.plain, values).array  # a DTensor refuses to say `plain`
    bump(tensor)
    return tensor


def _filled(tensor: Any, value: float) -> Any:
    with grad_modes.no_grad():
        return tensor.fill_(value)


not_offered.guard(globals())
