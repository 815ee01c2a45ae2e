"""Dice to draw from and to score with, which programs of reinforcement learning take of `torch.distributions`."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import cached_property
from typing import Any

import numpy as np

from minitorch_dist.inventory import not_offered
from minitorch_dist.tensors.autograd.grad_modes import enable_grad
from minitorch_dist.tensors.core.graph import result
from minitorch_dist.tensors.core.without_warnings import without_warnings
from minitorch_dist.tensors.limits import finfo
from minitorch_dist.tensors.ops.making.draws import multinomial
from minitorch_dist.tensors.ops.shapes.broadcasting import broadcast_shapes
from minitorch_dist.tensors.size import Size
from minitorch_dist.tensors.tensor import Tensor


class Categorical:
    """A die. The last dimension of `probs` (or of `logits`) weighs its faces; it need not add up to 1.

    Of `probs` and `logits`, each is made of the other one when it is asked for.
    """

    def __init__(
        self, probs: Tensor | None = None, logits: Tensor | None = None, validate_args: bool | None = None
    ) -> None:
        if (probs is None) == (logits is None):
            raise ValueError("Either `probs` or `logits` must be specified, but not both.")
        name, given = ("logits", logits) if probs is None else ("probs", probs)
        if given is None or given.dim() < 1:
            raise ValueError(f"`{name}` parameter must be at least one-dimensional.")
        self._given, self._validate = name, validate_args is not False
        if probs is None:
            self.logits = given - given.logsumexp(dim=-1, keepdim=True)
        else:
            self.probs = given / given.sum(-1, keepdim=True)
        self.batch_shape, self.event_shape = given.size()[:-1], Size()
        self._faces = int(given.size()[-1])
        if probs is None:
            self._check("parameter logits", self.logits, self.logits == self.logits, "Real()")
        else:
            self._check("parameter probs", self.probs, _are_simplex(self.probs), "Simplex()")

    @cached_property
    def logits(self) -> Any:
        with enable_grad():
            eps = finfo(self.probs.dtype).eps  # away from 0 and 1, so that logarithms stay finite
            return self.probs.clamp(min=eps, max=1 - eps).log()

    @cached_property
    def probs(self) -> Any:
        with enable_grad():
            return self.logits.softmax(dim=-1)

    def sample(self, sample_shape: Sequence[int] = ()) -> Any:
        rows = self.probs.detach().reshape(-1, self._faces)
        drawn = multinomial(rows, math.prod(sample_shape), replacement=True)
        return drawn.t().reshape((*sample_shape, *self.batch_shape))

    def log_prob(self, value: Any) -> Any:
        fits = (value >= 0) & (value < self._faces)
        self._check("value argument", value, fits, f"IntegerInterval(0, {self._faces - 1})")
        full = broadcast_shapes((*value.shape, 1), self.logits.shape)
        index, logits = value.long().unsqueeze(-1).expand((*full[:-1], 1)), self.logits.expand(full)
        return logits.gather(-1, index).squeeze(-1)

    def entropy(self) -> Any:
        logits = self.logits.clamp(min=finfo(self.logits.dtype).min)  # 0 · -inf is nan
        return -(logits * self.probs).sum(-1)

    def _check(self, name: str, value: Any, fits: Any, region: str) -> None:
        """Raise ValueError unless all of the tensor `fits` is true: `value` lies in its region."""
        if self._validate and not fits.all():
            raise ValueError(
                f"Expected {name} ({type(value).__name__} of shape {tuple(value.shape)}) of distribution "
                f"{self!r} to satisfy the constraint {region}, but found invalid values:\n{value}"
            )

    def __repr__(self) -> str:
        held = getattr(self, self._given)
        return f"Categorical({self._given}: {held if held.numel() == 1 else held.size()})"


def _are_simplex(probs: Any) -> Any:
    """Whether numbers are not negative and add up to 1: asked for each die of a game, so it is one question."""
    numbers = probs.array
    sums = np.asanyarray(without_warnings(np.add.reduce, numbers, -1, np.float64))
    sums = sums.astype(numbers.dtype)
    fits = np.logical_and.reduce(numbers >= 0, -1) & (abs(sums - 1) < 1e-6)
    return result(probs, np.asanyarray(fits))


not_offered.guard(globals())
