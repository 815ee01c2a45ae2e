"""Modules as functions of their parameters, and functions of functions: PyTorch's `torch.func`."""

from minitorch_dist import not_offered
from minitorch_dist.func.calling import functional_call as functional_call
from minitorch_dist.func.transforms import (
    grad as grad,
    grad_and_value as grad_and_value,
    hessian as hessian,
    jacfwd as jacfwd,
    jacrev as jacrev,
    jvp as jvp,
    vjp as vjp,
    vmap as vmap,
)

not_offered.guard(globals())
