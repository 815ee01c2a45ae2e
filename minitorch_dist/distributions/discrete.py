"""Coins and dice: distributions of a few values, by their probabilities or by logits."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import cached_property
from typing import Any

import numpy as np

from minitorch_dist.distributions.distribution import Distribution, broadcast_all
from minitorch_dist.tensors.autograd.grad_modes import enable_grad, no_grad
from minitorch_dist.tensors.core.graph import result
from minitorch_dist.tensors.core.without_warnings import without_warnings
from minitorch_dist.tensors.limits import finfo
from minitorch_dist.tensors.ops.layers.activations import softplus
from minitorch_dist.tensors.ops.layers.losses import binary_cross_entropy_with_logits
from minitorch_dist.tensors.ops.making.draws import bernoulli, multinomial
from minitorch_dist.tensors.ops.shapes.broadcasting import broadcast_tensors
from minitorch_dist.tensors.tensor import Tensor


class _ByProbability(Distribution):
    """`probs` and `logits`, each made of the other one when it is asked for."""

    def __init__(self, probs: Any, logits: Any) -> None:
        if (probs is None) == (logits is None):
            raise ValueError("Either `probs` or `logits` must be specified, but not both.")
        if probs is not None:
            self.probs = probs
        else:
            self.logits = logits
        self._parameters = ("logits",) if probs is None else ("probs",)

    @property
    def _given(self) -> Any:
        return getattr(self, self._parameters[0])

    @cached_property
    def logits(self) -> Any:
        with enable_grad():
            eps = finfo(self.probs.dtype).eps  # away from 0 and 1, so that logarithms stay finite
            return self._logits_of(self.probs.clamp(min=eps, max=1 - eps))

    @cached_property
    def probs(self) -> Any:
        with enable_grad():
            return self._probs_of(self.logits)

    def _logits_of(self, probs: Any) -> Any:
        raise NotImplementedError

    def _probs_of(self, logits: Any) -> Any:
        raise NotImplementedError


class Bernoulli(_ByProbability):
    """1 with the probability `probs`, or with the one whose log-odds are `logits`; else 0."""

    def __init__(
        self,
        probs: Tensor | float | None = None,
        logits: Tensor | float | None = None,
        validate_args: bool | None = None,
    ) -> None:
        super().__init__(*(None if p is None else broadcast_all(p)[0] for p in (probs, logits)))
        Distribution.__init__(self, self._given.size(), validate_args=validate_args)
        if probs is not None:
            fits = (self.probs >= 0) & (self.probs <= 1)
            self._check("parameter probs", self.probs, fits, "Interval(0.0, 1.0)")
        else:
            self._check("parameter logits", self.logits, self.logits == self.logits, "Real()")

    def _logits_of(self, probs: Any) -> Any:
        return probs.log() - (-probs).log1p()

    def _probs_of(self, logits: Any) -> Any:
        return logits.sigmoid()

    @property
    def mean(self) -> Any:
        return self.probs

    @property
    def variance(self) -> Any:
        return self.probs * (1 - self.probs)

    def sample(self, sample_shape: Sequence[int] = ()) -> Any:
        with no_grad():
            return bernoulli(self.probs.expand(self._extended_shape(sample_shape)))

    def log_prob(self, value: Any) -> Any:
        self._check("value argument", value, (value == 0) | (value == 1), "Boolean()")
        logits, value = broadcast_all(self.logits, value)
        return -binary_cross_entropy_with_logits(logits, value, reduction="none")

    def entropy(self) -> Any:
        return binary_cross_entropy_with_logits(self.logits, self.probs, reduction="none")

    def _divergence(self, q: Bernoulli) -> Any:
        ones = self.probs * (softplus(-q.logits) - softplus(-self.logits))
        ones = ones.masked_fill(q.probs == 0, math.inf).masked_fill(self.probs == 0, 0)
        zeros = (1 - self.probs) * (softplus(q.logits) - softplus(self.logits))
        zeros = zeros.masked_fill(q.probs == 1, math.inf).masked_fill(self.probs == 1, 0)
        return ones + zeros


class Categorical(_ByProbability):
    """A die. The last dimension of `probs` (or of `logits`) weighs its faces; it need not add up to 1."""

    def __init__(
        self,
        probs: Tensor | None = None,
        logits: Tensor | None = None,
        validate_args: bool | None = None,
    ) -> None:
        for name, given in (("probs", probs), ("logits", logits)):
            if given is not None and given.dim() < 1:
                raise ValueError(f"`{name}` parameter must be at least one-dimensional.")
        super().__init__(
            None if probs is None else probs / probs.sum(-1, keepdim=True),
            None if logits is None else logits - logits.logsumexp(dim=-1, keepdim=True),
        )
        Distribution.__init__(self, self._given.size()[:-1], validate_args=validate_args)
        self._faces = int(self._given.size()[-1])
        if probs is not None:
            self._check("parameter probs", self.probs, _are_simplex(self.probs), "Simplex()")
        else:
            self._check("parameter logits", self.logits, self.logits == self.logits, "Real()")

    def _logits_of(self, probs: Any) -> Any:
        return probs.log()

    def _probs_of(self, logits: Any) -> Any:
        return logits.softmax(dim=-1)

    def sample(self, sample_shape: Sequence[int] = ()) -> Any:
        rows = self.probs.detach().reshape(-1, self._faces)
        drawn = multinomial(rows, math.prod(sample_shape), replacement=True)
        return drawn.t().reshape(self._extended_shape(sample_shape))

    def log_prob(self, value: Any) -> Any:
        fits = (value >= 0) & (value < self._faces)
        self._check("value argument", value, fits, f"IntegerInterval(0, {self._faces - 1})")
        index, logits = broadcast_tensors(value.long().unsqueeze(-1), self.logits)
        return logits.gather(-1, index[..., :1]).squeeze(-1)

    def entropy(self) -> Any:
        logits = self.logits.clamp(min=finfo(self.logits.dtype).min)  # 0 · -inf is nan
        return -(logits * self.probs).sum(-1)

    def _divergence(self, q: Categorical) -> Any:
        parts = self.probs * (self.logits - q.logits)
        return parts.masked_fill(q.probs == 0, math.inf).masked_fill(self.probs == 0, 0).sum(-1)


def _are_simplex(probs: Any) -> Any:
    """Whether numbers are not negative and add up to 1: asked for each die of a game, so it is one question."""
    numbers = probs.array
    sums = np.asanyarray(without_warnings(np.add.reduce, numbers, -1, np.float64))
    sums = sums.astype(numbers.dtype)
    fits = np.logical_and.reduce(numbers >= 0, -1) & (abs(sums - 1) < 1e-6)
    return result(probs, np.asanyarray(fits))
