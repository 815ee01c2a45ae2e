"""A die: one of the numbers 0 … K-1, each with its probability."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import cached_property
from typing import Any

from minitorch_dist.distributions import constraints
from minitorch_dist.distributions.distribution import Distribution
from minitorch_dist.distributions.utils import logits_to_probs, probs_to_logits
from minitorch_dist.tensors.autograd.grad_modes import enable_grad
from minitorch_dist.tensors.dtypes import int64
from minitorch_dist.tensors.limits import finfo
from minitorch_dist.tensors.ops.making.creation import full
from minitorch_dist.tensors.ops.making.draws import multinomial
from minitorch_dist.tensors.ops.making.ranges import arange
from minitorch_dist.tensors.ops.shapes.broadcasting import broadcast_tensors
from minitorch_dist.tensors.size import Size
from minitorch_dist.tensors.tensor import Tensor


class Categorical(Distribution):
    """The last dimension of `probs` (or of `logits`) weighs the categories; it need not add up to 1."""

    arg_constraints = {"probs": constraints.simplex, "logits": constraints.real_vector}
    has_enumerate_support = True

    def __init__(
        self,
        probs: Tensor | None = None,
        logits: Tensor | None = None,
        validate_args: bool | None = None,
    ) -> None:
        if (probs is None) == (logits is None):
            raise ValueError("Either `probs` or `logits` must be specified, but not both.")
        if probs is not None:
            if probs.dim() < 1:
                raise ValueError("`probs` parameter must be at least one-dimensional.")
            self.probs = probs / probs.sum(-1, keepdim=True)
        elif logits is not None:
            if logits.dim() < 1:
                raise ValueError("`logits` parameter must be at least one-dimensional.")
            self.logits = logits - logits.logsumexp(dim=-1, keepdim=True)
        super().__init__(self.param_shape[:-1], validate_args=validate_args)

    @property
    def _param(self) -> Any:
        """A parameter that is there already: `probs`, or else `logits`."""
        return vars(self)["probs" if "probs" in vars(self) else "logits"]

    @cached_property
    def logits(self) -> Any:
        with enable_grad():
            return probs_to_logits(self.probs)

    @cached_property
    def probs(self) -> Any:
        with enable_grad():
            return logits_to_probs(self.logits)

    @property
    def param_shape(self) -> Size:
        return Size(self._param.size())

    @property
    def _num_events(self) -> int:
        return int(self.param_shape[-1])

    @property
    def support(self) -> constraints.Constraint:
        return constraints.integer_interval(0, self._num_events - 1)

    def expand(self, batch_shape: Sequence[int], _instance: Any = None) -> Any:
        shape = Size((*batch_shape, self._num_events))
        held = {k: vars(self)[k].expand(shape) for k in ("probs", "logits") if k in vars(self)}
        return self._expanded(Categorical, _instance, shape[:-1], **held)

    @property
    def mean(self) -> Any:
        """nan: the categories are names, and names have no mean."""
        probs = self.probs
        return full(self._extended_shape(), math.nan, dtype=probs.dtype, device=probs.device)

    @property
    def mode(self) -> Any:
        return self.probs.argmax(dim=-1)

    @property
    def variance(self) -> Any:
        return self.mean

    def sample(self, sample_shape: Sequence[int] = ()) -> Any:
        rows = self.probs.detach().reshape(-1, self._num_events)
        drawn = multinomial(rows, math.prod(sample_shape), replacement=True)
        return drawn.t().reshape(self._extended_shape(sample_shape))

    def log_prob(self, value: Any) -> Any:
        if self._validate_args:
            self._validate_sample(value)
        index, logits = broadcast_tensors(value.long().unsqueeze(-1), self.logits)
        return logits.gather(-1, index[..., :1]).squeeze(-1)

    def entropy(self) -> Any:
        logits = self.logits.clamp(min=finfo(self.logits.dtype).min)  # 0 · -inf is nan
        return -(logits * self.probs).sum(-1)

    def enumerate_support(self, expand: bool = True) -> Any:
        values = arange(self._num_events, dtype=int64, device=self._param.device)
        values = values.view(-1, *[1] * len(self._batch_shape))
        return values.expand(-1, *self._batch_shape) if expand else values
