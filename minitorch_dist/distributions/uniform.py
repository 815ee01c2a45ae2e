"""The uniform distribution."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from minitorch_dist.distributions import constraints
from minitorch_dist.distributions.distribution import Distribution
from minitorch_dist.distributions.utils import broadcast_all
from minitorch_dist.tensors.ops.making.random import rand
from minitorch_dist.tensors.size import Size
from minitorch_dist.tensors.tensor import Tensor


class Uniform(Distribution):
    """Uniform from `low` (inclusive) to `high` (exclusive)."""

    has_rsample = True

    def __init__(
        self, low: Tensor | float, high: Tensor | float, validate_args: bool | None = None
    ) -> None:
        self.low, self.high = broadcast_all(low, high)
        super().__init__(self.low.size(), validate_args=validate_args)

    @property
    def arg_constraints(self) -> dict[str, constraints.Constraint]:
        return {
            "low": constraints.less_than(self.high),
            "high": constraints.greater_than(self.low),
        }

    @property
    def support(self) -> constraints.Constraint:
        return constraints.interval(self.low, self.high)

    def expand(self, batch_shape: Sequence[int], _instance: Any = None) -> Any:
        shape = Size(batch_shape)
        low, high = self.low.expand(shape), self.high.expand(shape)
        return self._expanded(Uniform, _instance, shape, low=low, high=high)

    @property
    def mean(self) -> Any:
        return (self.high + self.low) / 2

    @property
    def mode(self) -> Any:
        return math.nan * self.high  # no value is likelier than another

    @property
    def stddev(self) -> Any:
        return (self.high - self.low) / 12**0.5

    @property
    def variance(self) -> Any:
        return (self.high - self.low).pow(2) / 12

    def rsample(self, sample_shape: Sequence[int] = ()) -> Any:
        shape = self._extended_shape(sample_shape)
        share = rand(shape, dtype=self.low.dtype, device=self.low.device)
        return self.low + share * (self.high - self.low)

    def log_prob(self, value: Any) -> Any:
        if self._validate_args:
            self._validate_sample(value)
        inside = (self.low <= value) & (self.high > value)
        return inside.type_as(self.low).log() - (self.high - self.low).log()

    def cdf(self, value: Any) -> Any:
        if self._validate_args:
            self._validate_sample(value)
        return ((value - self.low) / (self.high - self.low)).clamp(min=0, max=1)

    def icdf(self, value: Any) -> Any:
        return value * (self.high - self.low) + self.low

    def entropy(self) -> Any:
        return (self.high - self.low).log()
