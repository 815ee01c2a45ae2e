"""The Kullback-Leibler divergence of two distributions, a formula for each pair of classes."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable
from typing import Any, Final, TypeAlias

from minitorch_dist.distributions.bernoulli import Bernoulli
from minitorch_dist.distributions.categorical import Categorical
from minitorch_dist.distributions.distribution import Distribution
from minitorch_dist.distributions.exponential import Exponential
from minitorch_dist.distributions.independent import Independent, sum_rightmost
from minitorch_dist.distributions.laplace import Laplace
from minitorch_dist.distributions.multivariate_normal import MultivariateNormal
from minitorch_dist.distributions.normal import Normal
from minitorch_dist.distributions.uniform import Uniform
from minitorch_dist.tensors.ops.layers.activations import softplus
from minitorch_dist.tensors.ops.linear_algebra.solving import solve_triangular

Formula: TypeAlias = Callable[[Any, Any], Any]
FORMULAS: Final[dict[tuple[type, type], Formula]] = {}


def register_kl(type_p: type, type_q: type) -> Callable[[Formula], Formula]:
    """A decorator: the function gives `kl_divergence` for distributions of these classes."""
    for name, given in (("type_p", type_p), ("type_q", type_q)):
        if not (isinstance(given, type) and issubclass(given, Distribution)):
            raise TypeError(f"Expected {name} to be a Distribution subclass but got {given}")

    def keep(formula: Formula) -> Formula:
        FORMULAS[type_p, type_q] = formula
        return formula

    return keep


def kl_divergence(p: Distribution, q: Distribution) -> Any:
    """How far `q` is from `p`: the mean of log p(x) - log q(x) over draws x of `p`."""
    return formula_for(type(p), type(q))(p, q)


def formula_for(p: type, q: type) -> Formula:
    """The formula for the classes that are nearest to these: they themselves, or bases of theirs."""
    fitting = [pair for pair in FORMULAS if issubclass(p, pair[0]) and issubclass(q, pair[1])]
    if not fitting:
        raise NotImplementedError(
            f"No KL(p || q) is implemented for p type {p.__name__} and q type {q.__name__}"
        )
    far = {pair: (p.__mro__.index(pair[0]), q.__mro__.index(pair[1])) for pair in fitting}
    by_p = min(fitting, key=lambda pair: far[pair])
    by_q = min(fitting, key=lambda pair: far[pair][::-1])
    if FORMULAS[by_p] is not FORMULAS[by_q]:
        warnings.warn(
            f"Ambiguous kl_divergence({p.__name__}, {q.__name__}). "
            f"Please register_kl({by_p[0].__name__}, {by_q[1].__name__})",
            RuntimeWarning,
            stacklevel=3,
        )
    return FORMULAS[by_p]


@register_kl(Normal, Normal)
def _normal(p: Normal, q: Normal) -> Any:
    ratio = (p.scale / q.scale).pow(2)
    return 0.5 * (ratio + ((p.loc - q.loc) / q.scale).pow(2) - 1 - ratio.log())


@register_kl(Laplace, Laplace)
def _laplace(p: Laplace, q: Laplace) -> Any:
    ratio, apart = p.scale / q.scale, (p.loc - q.loc).abs()
    return -ratio.log() + apart / q.scale + ratio * (-apart / p.scale).exp() - 1


@register_kl(MultivariateNormal, MultivariateNormal)
def _normal_vectors(p: MultivariateNormal, q: MultivariateNormal) -> Any:
    """½ (tr(Σq⁻¹ Σp) + dᵀ Σq⁻¹ d - n) + ½ log(|Σq| / |Σp|), by the roots of Σq."""
    if p.event_shape != q.event_shape:
        raise ValueError(
            "KL-divergence between two Multivariate Normals with different event shapes cannot be computed"
        )
    spread = solve_triangular(q.scale_tril, p.scale_tril, upper=False).pow(2).sum((-2, -1))
    apart = solve_triangular(q.scale_tril, (q.loc - p.loc)[..., None], upper=False)
    squares = spread + apart.pow(2).sum((-2, -1)) - p.event_shape[0]
    return 0.5 * squares + q._half_log_det() - p._half_log_det()


@register_kl(Uniform, Uniform)
def _uniform(p: Uniform, q: Uniform) -> Any:
    divergence = ((q.high - q.low) / (p.high - p.low)).log()
    return divergence.masked_fill((q.low > p.low) | (q.high < p.high), math.inf)


@register_kl(Exponential, Exponential)
def _exponential(p: Exponential, q: Exponential) -> Any:
    ratio = q.rate / p.rate
    return -ratio.log() + ratio - 1


@register_kl(Bernoulli, Bernoulli)
def _bernoulli(p: Bernoulli, q: Bernoulli) -> Any:
    ones = p.probs * (softplus(-q.logits) - softplus(-p.logits))
    ones = ones.masked_fill(q.probs == 0, math.inf).masked_fill(p.probs == 0, 0)
    zeros = (1 - p.probs) * (softplus(q.logits) - softplus(p.logits))
    zeros = zeros.masked_fill(q.probs == 1, math.inf).masked_fill(p.probs == 1, 0)
    return ones + zeros


@register_kl(Categorical, Categorical)
def _categorical(p: Categorical, q: Categorical) -> Any:
    parts = p.probs * (p.logits - q.logits)
    return parts.masked_fill(q.probs == 0, math.inf).masked_fill(p.probs == 0, 0).sum(-1)


@register_kl(Independent, Independent)
def _independent(p: Independent, q: Independent) -> Any:
    if p.reinterpreted_batch_ndims != q.reinterpreted_batch_ndims:
        raise NotImplementedError
    parts = kl_divergence(p.base_dist, q.base_dist)
    return sum_rightmost(parts, p.reinterpreted_batch_ndims)
