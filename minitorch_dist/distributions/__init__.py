"""Distributions to draw from and to score with: PyTorch's `torch.distributions`, as far as it is offered.

constraints   the values that a parameter may have, and those that a distribution can give
utils         parameters of one shape; probabilities from logits, and back
distribution  the base of all: shapes, checks, and what each distribution answers
normal laplace uniform exponential    on the real line; they pass gradients on to their parameters
multivariate_normal           vectors
bernoulli categorical         coins and dice
independent   several draws taken as one event
kl            the divergence of one distribution from another
"""

from minitorch_dist.absent import absent
from minitorch_dist.distributions import constraints as constraints, utils as utils
from minitorch_dist.distributions.bernoulli import Bernoulli as Bernoulli
from minitorch_dist.distributions.categorical import Categorical as Categorical
from minitorch_dist.distributions.distribution import Distribution as Distribution
from minitorch_dist.distributions.exponential import Exponential as Exponential
from minitorch_dist.distributions.independent import Independent as Independent
from minitorch_dist.distributions.kl import (
    kl_divergence as kl_divergence,
    register_kl as register_kl,
)
from minitorch_dist.distributions.laplace import Laplace as Laplace
from minitorch_dist.distributions.multivariate_normal import (
    MultivariateNormal as MultivariateNormal,
)
from minitorch_dist.distributions.normal import Normal as Normal
from minitorch_dist.distributions.uniform import Uniform as Uniform

__getattr__ = absent(
    "distributions",
    "Beta Binomial Cauchy Chi2 ContinuousBernoulli Dirichlet ExponentialFamily FisherSnedecor Gamma GeneralizedPareto "
    "Geometric Gumbel HalfCauchy HalfNormal InverseGamma Kumaraswamy LKJCholesky LogNormal LogisticNormal "
    "LowRankMultivariateNormal MixtureSameFamily Multinomial NegativeBinomial OneHotCategorical "
    "OneHotCategoricalStraightThrough Pareto Poisson RelaxedBernoulli RelaxedOneHotCategorical StudentT "
    "TransformedDistribution VonMises Weibull Wishart",
    "Normal, MultivariateNormal, Laplace, Uniform, Exponential, Bernoulli, Categorical and Independent are: draw from one "
    "of these and transform it, or write a Distribution of your own.",
)
