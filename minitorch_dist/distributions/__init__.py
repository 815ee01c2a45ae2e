"""Distributions to draw from and to score with: what programs of reinforcement learning use of `torch.distributions`.

distribution  the base of all: shapes, checks, and what each distribution answers
normal        Gauss's bell, which passes gradients on to its parameters
discrete      dice
"""

from minitorch_dist import not_offered
from minitorch_dist.distributions.discrete import Categorical as Categorical
from minitorch_dist.distributions.distribution import Distribution as Distribution
from minitorch_dist.distributions.normal import Normal as Normal

not_offered.guard(globals())
