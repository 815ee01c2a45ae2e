"""Distributions to draw from and to score with: what programs of reinforcement learning use of `torch.distributions`.

distribution  the base of all: shapes, checks, what each distribution answers, and how far one is from another
normal        Gauss's bell, which passes gradients on to its parameters
discrete      Bernoulli and Categorical: coins and dice
"""

from minitorch_dist import not_offered
from minitorch_dist.distributions.discrete import (
    Bernoulli as Bernoulli,
    Categorical as Categorical,
)
from minitorch_dist.distributions.distribution import (
    Distribution as Distribution,
    kl_divergence as kl_divergence,
)
from minitorch_dist.distributions.normal import Normal as Normal

not_offered.guard(globals())
