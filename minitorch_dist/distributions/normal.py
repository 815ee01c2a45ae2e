"""The normal distribution (Gauss's bell)."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from minitorch_dist.distributions.distribution import Distribution, broadcast_all
from minitorch_dist.tensors.autograd.grad_modes import no_grad
from minitorch_dist.tensors.ops.making.random import normal, randn
from minitorch_dist.tensors.tensor import Tensor


class Normal(Distribution):
    """Normal with the mean `loc` and the standard deviation `scale`."""

    has_rsample = True
    _parameters = "loc", "scale"

    def __init__(
        self, loc: Tensor | float, scale: Tensor | float, validate_args: bool | None = None
    ) -> None:
        self.loc, self.scale = broadcast_all(loc, scale)
        super().__init__(self.loc.size(), validate_args=validate_args)
        self._check("parameter loc", self.loc, self.loc == self.loc, "Real()")
        self._check("parameter scale", self.scale, self.scale > 0, "GreaterThan(lower_bound=0.0)")

    @property
    def mean(self) -> Any:
        return self.loc

    @property
    def variance(self) -> Any:
        return self.scale.pow(2)

    def sample(self, sample_shape: Sequence[int] = ()) -> Any:
        shape = self._extended_shape(sample_shape)
        with no_grad():
            return normal(self.loc.expand(shape), self.scale.expand(shape))

    def rsample(self, sample_shape: Sequence[int] = ()) -> Any:
        shape = self._extended_shape(sample_shape)
        noise = randn(shape, dtype=self.loc.dtype, device=self.loc.device)
        return self.loc + noise * self.scale

    def log_prob(self, value: Any) -> Any:
        self._check("value argument", value, value == value, "Real()")
        exponent = -((value - self.loc) ** 2) / (2 * self.scale**2)
        return exponent - self.scale.log() - math.log(math.sqrt(2 * math.pi))

    def entropy(self) -> Any:
        return 0.5 + 0.5 * math.log(2 * math.pi) + self.scale.log()
