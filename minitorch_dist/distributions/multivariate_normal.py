"""The normal distribution of vectors, whose parts depend on each other."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from minitorch_dist.distributions import constraints
from minitorch_dist.distributions.distribution import Distribution
from minitorch_dist.tensors.ops.linear_algebra.decompositions import cholesky
from minitorch_dist.tensors.ops.linear_algebra.solving import inv, solve_triangular
from minitorch_dist.tensors.ops.making.random import randn
from minitorch_dist.tensors.size import Size


class MultivariateNormal(Distribution):
    """Vectors with the mean `loc`; one of the matrices says how they spread. `scale_tril` is its root L, so that Σ = LLᵀ."""

    arg_constraints = {"loc": constraints.independent(constraints.real, 1)}
    support = constraints.independent(constraints.real, 1)
    has_rsample = True

    def __init__(
        self, loc: Any, covariance_matrix: Any = None, precision_matrix: Any = None,
        scale_tril: Any = None, validate_args: bool | None = None,
    ) -> None:  # fmt: skip
        if loc.ndim < 1:
            raise ValueError("loc must be at least one-dimensional.")
        given = [m for m in (covariance_matrix, precision_matrix, scale_tril) if m is not None]
        if len(given) != 1:
            raise ValueError(
                "Exactly one of covariance_matrix or precision_matrix or scale_tril may be specified."
            )
        if given[0].ndim < 2:
            raise ValueError(
                "the matrix must be at least two-dimensional, with optional leading batch dimensions"
            )
        root = given[0]
        if covariance_matrix is not None:
            root = cholesky(covariance_matrix)
        elif precision_matrix is not None:
            root = cholesky(inv(precision_matrix))
        batch = (loc[..., None] + root).shape[:-2] + loc.shape[-1:]
        shape = (*batch[:-1], *root.shape[-2:])
        self.loc = loc.expand(batch)
        self._covariance = None if covariance_matrix is None else covariance_matrix.expand(shape)
        self._precision = None if precision_matrix is None else precision_matrix.expand(shape)
        self.scale_tril = root.expand(shape)
        super().__init__(Size(batch[:-1]), Size(batch[-1:]), validate_args=validate_args)

    def expand(self, batch_shape: Sequence[int], _instance: Any = None) -> Any:
        shape, size = Size(batch_shape), self._event_shape[0]
        loc, root = self.loc.expand((*shape, size)), self.scale_tril.expand((*shape, size, size))
        return self._expanded(
            MultivariateNormal,
            _instance,
            shape,
            loc=loc,
            scale_tril=root,
            _covariance=None,
            _precision=None,
        )

    @property
    def mean(self) -> Any:
        return self.loc

    @property
    def mode(self) -> Any:
        return self.loc

    @property
    def covariance_matrix(self) -> Any:
        given = self._covariance
        return self.scale_tril @ self.scale_tril.mT if given is None else given

    @property
    def precision_matrix(self) -> Any:
        given = self._precision
        return inv(self.scale_tril @ self.scale_tril.mT) if given is None else given

    @property
    def variance(self) -> Any:
        return self.scale_tril.pow(2).sum(-1)

    def rsample(self, sample_shape: Sequence[int] = ()) -> Any:
        shape = self._extended_shape(sample_shape)
        noise = randn(shape, dtype=self.loc.dtype, device=self.loc.device)
        return self.loc + (self.scale_tril @ noise[..., None])[..., 0]

    def log_prob(self, value: Any) -> Any:
        if self._validate_args:
            self._validate_sample(value)
        apart = (value - self.loc)[..., None]
        root = self.scale_tril.expand((*apart.shape[:-2], *self.scale_tril.shape[-2:]))
        normal = solve_triangular(root, apart, upper=False)[..., 0]
        size = self._event_shape[0]
        return -0.5 * (size * math.log(2 * math.pi) + (normal**2).sum(-1)) - self._half_log_det()

    def entropy(self) -> Any:
        return 0.5 * self._event_shape[0] * (1 + math.log(2 * math.pi)) + self._half_log_det()

    def _half_log_det(self) -> Any:
        return self.scale_tril.diagonal(dim1=-2, dim2=-1).log().sum(-1)
