"""Functions that change a network's gradients from outside of it, and `rnn` for sequences."""

from minitorch_dist.inventory import not_offered
from minitorch_dist.nn.utils import rnn as rnn
from minitorch_dist.nn.utils.clip_grad import (
    clip_grad_norm_ as clip_grad_norm_,
    clip_grad_value_ as clip_grad_value_,
    clip_grads_with_norm_ as clip_grads_with_norm_,
    get_total_norm as get_total_norm,
)

not_offered.guard(globals())
