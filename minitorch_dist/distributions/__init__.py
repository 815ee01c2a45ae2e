"""Distributions to draw from and to score with: what programs of reinforcement learning use of `torch.distributions`.

distribution  the base of all: shapes, checks, what each distribution answers, and how far one is from another
normal        Gauss's bell, which passes gradients on to its parameters
discrete      Bernoulli and Categorical: coins and dice
"""

from minitorch_dist.absent import absent
from minitorch_dist.distributions.discrete import (
    Bernoulli as Bernoulli,
    Categorical as Categorical,
)
from minitorch_dist.distributions.distribution import (
    Distribution as Distribution,
    kl_divergence as kl_divergence,
)
from minitorch_dist.distributions.normal import Normal as Normal

__getattr__ = absent(
    "distributions",
    "Beta Binomial Cauchy Chi2 ContinuousBernoulli Dirichlet Exponential ExponentialFamily FisherSnedecor Gamma "
    "GeneralizedPareto Geometric Gumbel HalfCauchy HalfNormal Independent InverseGamma Kumaraswamy LKJCholesky Laplace "
    "LogNormal LogisticNormal LowRankMultivariateNormal MixtureSameFamily Multinomial MultivariateNormal NegativeBinomial "
    "OneHotCategorical OneHotCategoricalStraightThrough Pareto Poisson RelaxedBernoulli RelaxedOneHotCategorical StudentT "
    "TransformedDistribution Uniform VonMises Weibull Wishart",
    "Normal, Bernoulli and Categorical are: draw from one of these and transform it, write a Distribution of your own, "
    "or take PyTorch.",
)
