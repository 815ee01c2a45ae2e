"""Filling an existing tensor with random numbers: `uniform_`, `normal_`, `random_` …

Each of them writes in place. So it counts as a write, and is refused where writing is. All that the
tensor depended on before gets a gradient of zero.
"""

from __future__ import annotations

import numpy as np

from minitorch_dist.tensors import distributions
from minitorch_dist.tensors.core.base import Array, T
from minitorch_dist.tensors.core.graph import record
from minitorch_dist.tensors.core.views import check_writable, write, wrote
from minitorch_dist.tensors.generator import Generator
from minitorch_dist.tensors.limits import finfo
from minitorch_dist.tensors.ops.making.chance import bounded, check_floating, check_spread, source
from minitorch_dist.tensors.promotion import one_number


def _fill(self: T, name: str, of: distributions.Transform, generator: Generator | None) -> T:
    x = self.array
    return _store(self, name, distributions.draw(x.shape, x.dtype, source(generator, self.storage.device), of, x))


def _store(self: T, name: str, array: Array) -> T:
    if self._requires_grad:
        shape, dtype = array.shape, array.dtype
        return write(self, record(array, name, (self, lambda g: np.zeros(shape, dtype, like=g))))
    self.array[...] = array
    wrote(self)
    return self


def uniform_(self: T, from_: float = 0.0, to: float = 1.0, *, generator: Generator | None = None, **kwargs: float) -> T:
    """Uniform on [from, to)."""
    low = kwargs.pop("from", from_)
    if kwargs:
        raise TypeError(f"uniform_() got an unexpected keyword argument {next(iter(kwargs))!r}")
    check_writable(self)
    check_floating(self.array.dtype, "check_uniform_bounds")
    largest = finfo(self.dtype).max
    for bound, text in ((low, "from"), (to, "to")):
        if not abs(bound) <= largest:
            raise RuntimeError(f"{text} is out of bounds for {self.dtype.name}: {bound}")
    if low > to:
        raise RuntimeError(f"uniform_ expects to return a [from, to) range, but found from={low} > to={to}")
    unit, span = distributions.unit(self.array.dtype), to - low
    return _fill(self, "UniformBackward0", lambda w: unit(w) * span + low, generator)


def normal_(self: T, mean: float = 0.0, std: float = 1.0, *, generator: Generator | None = None) -> T:
    """Normal with this mean and standard deviation."""
    check_writable(self)
    check_floating(self.array.dtype, "normal_kernel_cpu")
    one_number("normal_", "mean", mean)
    one_number("normal_", "std", std)
    check_spread(std)
    return _fill(self, "NormalBackward0", lambda w: distributions.normal(w) * std + mean, generator)


def random_(
    self: T, from_: int | None = None, to: int | None = None, *, generator: Generator | None = None, **kwargs: int
) -> T:
    """Integers from … to-1; with one number 0 … it-1; with none all that the dtype can tell apart."""
    low = kwargs.pop("from", from_)
    if kwargs:
        raise TypeError(f"random_() got an unexpected keyword argument {next(iter(kwargs))!r}")
    check_writable(self)
    x = self.array
    if low is None and to is None:
        if x.dtype in distributions.DIGITS:
            high = 2 ** distributions.DIGITS[x.dtype]
        else:
            high = 2 if x.dtype.kind == "b" else int(np.iinfo(x.dtype).max) + 1
        return _fill(self, "RandomBackward2", distributions.integers(0, high), generator)
    if to is None:
        low, to = 0, low
    assert to is not None
    return _fill(self, "RandomBackward0", bounded(low or 0, to, x.dtype), generator)
