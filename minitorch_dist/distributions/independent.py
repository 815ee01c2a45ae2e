"""Several draws taken as one event: the last dimensions of a batch become dimensions of the event."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from minitorch_dist.distributions import constraints
from minitorch_dist.distributions.distribution import Distribution
from minitorch_dist.tensors.size import Size


class Independent(Distribution):
    """`base_distribution`, the last `reinterpreted_batch_ndims` dimensions of its batch one event.

    The log-probability of an event is the sum over its parts.
    """

    arg_constraints: dict[str, constraints.Constraint] = {}

    def __init__(
        self,
        base_distribution: Distribution,
        reinterpreted_batch_ndims: int,
        validate_args: bool | None = None,
    ) -> None:
        batch = base_distribution.batch_shape
        if reinterpreted_batch_ndims > len(batch):
            raise ValueError(
                "Expected reinterpreted_batch_ndims <= len(base_distribution.batch_shape), "
                f"actual {reinterpreted_batch_ndims} vs {len(batch)}"
            )
        self.base_dist = base_distribution
        self.reinterpreted_batch_ndims = reinterpreted_batch_ndims
        kept = len(batch) - reinterpreted_batch_ndims
        event = batch[kept:] + base_distribution.event_shape
        super().__init__(batch[:kept], event, validate_args=validate_args)

    def expand(self, batch_shape: Sequence[int], _instance: Any = None) -> Any:
        taken = self.reinterpreted_batch_ndims
        base = self.base_dist.expand(Size((*batch_shape, *self._event_shape[:taken])))
        return self._expanded(
            Independent,
            _instance,
            Size(batch_shape),
            base_dist=base,
            reinterpreted_batch_ndims=taken,
        )

    @property
    def has_rsample(self) -> bool:  # type: ignore[override]
        return self.base_dist.has_rsample

    @property
    def has_enumerate_support(self) -> bool:  # type: ignore[override]
        return self.reinterpreted_batch_ndims == 0 and self.base_dist.has_enumerate_support

    @property
    def support(self) -> constraints.Constraint:
        base = self.base_dist.support
        taken = self.reinterpreted_batch_ndims
        return constraints.independent(base, taken) if taken else base

    @property
    def mean(self) -> Any:
        return self.base_dist.mean

    @property
    def mode(self) -> Any:
        return self.base_dist.mode

    @property
    def variance(self) -> Any:
        return self.base_dist.variance

    def sample(self, sample_shape: Sequence[int] = ()) -> Any:
        return self.base_dist.sample(sample_shape)

    def rsample(self, sample_shape: Sequence[int] = ()) -> Any:
        return self.base_dist.rsample(sample_shape)

    def log_prob(self, value: Any) -> Any:
        return sum_rightmost(self.base_dist.log_prob(value), self.reinterpreted_batch_ndims)

    def entropy(self) -> Any:
        return sum_rightmost(self.base_dist.entropy(), self.reinterpreted_batch_ndims)

    def enumerate_support(self, expand: bool = True) -> Any:
        if self.reinterpreted_batch_ndims > 0:
            raise NotImplementedError("Enumeration over cartesian product is not implemented")
        return self.base_dist.enumerate_support(expand)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.base_dist}, {self.reinterpreted_batch_ndims})"


def sum_rightmost(value: Any, dims: int) -> Any:
    """The sum over the last `dims` dimensions."""
    return value.reshape(*value.shape[: value.dim() - dims], -1).sum(-1) if dims else value
