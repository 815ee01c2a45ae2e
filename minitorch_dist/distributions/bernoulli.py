"""A coin: 1 with a given probability, else 0."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import cached_property
from typing import Any

from minitorch_dist.distributions import constraints
from minitorch_dist.distributions.distribution import Distribution
from minitorch_dist.distributions.utils import broadcast_all, logits_to_probs, probs_to_logits
from minitorch_dist.tensors.autograd.grad_modes import enable_grad, no_grad
from minitorch_dist.tensors.ops.layers.losses import binary_cross_entropy_with_logits
from minitorch_dist.tensors.ops.making.creation import tensor
from minitorch_dist.tensors.ops.making.draws import bernoulli
from minitorch_dist.tensors.size import Size
from minitorch_dist.tensors.tensor import Tensor


class Bernoulli(Distribution):
    """1 with the probability `probs`, or with the one whose log-odds are `logits`."""

    arg_constraints = {"probs": constraints.unit_interval, "logits": constraints.real}
    support = constraints.boolean
    has_enumerate_support = True

    def __init__(
        self,
        probs: Tensor | float | None = None,
        logits: Tensor | float | None = None,
        validate_args: bool | None = None,
    ) -> None:
        if (probs is None) == (logits is None):
            raise ValueError("Either `probs` or `logits` must be specified, but not both.")
        if probs is not None:
            (self.probs,) = broadcast_all(probs)
        else:
            (self.logits,) = broadcast_all(logits)
        super().__init__(self._param.size(), validate_args=validate_args)

    @property
    def _param(self) -> Any:
        """A parameter that is there already: `probs`, or else `logits`."""
        return vars(self)["probs" if "probs" in vars(self) else "logits"]

    @cached_property
    def logits(self) -> Any:
        with enable_grad():
            return probs_to_logits(self.probs, is_binary=True)

    @cached_property
    def probs(self) -> Any:
        with enable_grad():
            return logits_to_probs(self.logits, is_binary=True)

    @property
    def param_shape(self) -> Size:
        return Size(self._param.size())

    def expand(self, batch_shape: Sequence[int], _instance: Any = None) -> Any:
        shape = Size(batch_shape)
        held = {k: vars(self)[k].expand(shape) for k in ("probs", "logits") if k in vars(self)}
        return self._expanded(Bernoulli, _instance, shape, **held)

    @property
    def mean(self) -> Any:
        return self.probs

    @property
    def mode(self) -> Any:
        likelier = (self.probs >= 0.5).to(self.probs)
        return likelier.masked_fill(self.probs == 0.5, math.nan)

    @property
    def variance(self) -> Any:
        return self.probs * (1 - self.probs)

    def sample(self, sample_shape: Sequence[int] = ()) -> Any:
        with no_grad():
            return bernoulli(self.probs.expand(self._extended_shape(sample_shape)))

    def log_prob(self, value: Any) -> Any:
        if self._validate_args:
            self._validate_sample(value)
        logits, value = broadcast_all(self.logits, value)
        return -binary_cross_entropy_with_logits(logits, value, reduction="none")

    def entropy(self) -> Any:
        return binary_cross_entropy_with_logits(self.logits, self.probs, reduction="none")

    def enumerate_support(self, expand: bool = True) -> Any:
        param = self._param
        values = tensor([0.0, 1.0], dtype=param.dtype, device=param.device)
        values = values.view(-1, *[1] * len(self._batch_shape))
        return values.expand(-1, *self._batch_shape) if expand else values
