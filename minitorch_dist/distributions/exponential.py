"""The exponential distribution: how long one waits for an event that may come at any time."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from minitorch_dist.distributions import constraints
from minitorch_dist.distributions.distribution import Distribution
from minitorch_dist.distributions.utils import broadcast_all
from minitorch_dist.tensors.ops.making.creation import empty, zeros_like
from minitorch_dist.tensors.size import Size
from minitorch_dist.tensors.tensor import Tensor


class Exponential(Distribution):
    """Exponential with `rate` events in a unit of time."""

    arg_constraints = {"rate": constraints.positive}
    support = constraints.nonnegative
    has_rsample = True

    def __init__(self, rate: Tensor | float, validate_args: bool | None = None) -> None:
        (self.rate,) = broadcast_all(rate)
        super().__init__(self.rate.size(), validate_args=validate_args)

    def expand(self, batch_shape: Sequence[int], _instance: Any = None) -> Any:
        shape = Size(batch_shape)
        return self._expanded(Exponential, _instance, shape, rate=self.rate.expand(shape))

    @property
    def mean(self) -> Any:
        return self.rate.reciprocal()

    @property
    def mode(self) -> Any:
        return zeros_like(self.rate)

    @property
    def stddev(self) -> Any:
        return self.rate.reciprocal()

    @property
    def variance(self) -> Any:
        return self.rate.pow(-2)

    def rsample(self, sample_shape: Sequence[int] = ()) -> Any:
        shape = self._extended_shape(sample_shape)
        waited = empty(shape, dtype=self.rate.dtype, device=self.rate.device).exponential_()
        return waited / self.rate

    def log_prob(self, value: Any) -> Any:
        if self._validate_args:
            self._validate_sample(value)
        return self.rate.log() - self.rate * value

    def cdf(self, value: Any) -> Any:
        if self._validate_args:
            self._validate_sample(value)
        return 1 - (-self.rate * value).exp()

    def icdf(self, value: Any) -> Any:
        return -(-value).log1p() / self.rate

    def entropy(self) -> Any:
        return 1.0 - self.rate.log()
