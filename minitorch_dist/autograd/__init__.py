"""Gradients: `torch.autograd` under its own names. The engine itself stands in `tensors.core.engine`.

function           operations of your own (`saved`: what they keep; `outputs`: their results)
graph              looking at the graph
variable           the name that tensors once had
"""

from minitorch_dist.autograd import function as function, graph as graph, variable as variable
from minitorch_dist.autograd.function import Function as Function
from minitorch_dist.autograd.variable import Variable as Variable
from minitorch_dist.inventory import not_offered
from minitorch_dist.tensors.autograd.grad_modes import (
    enable_grad as enable_grad,
    inference_mode as inference_mode,
    is_grad_enabled as is_grad_enabled,
    is_inference_mode_enabled as is_inference_mode_enabled,
    no_grad as no_grad,
    set_grad_enabled as set_grad_enabled,
)
from minitorch_dist.tensors.core import grad_mode as grad_mode
from minitorch_dist.tensors.ops.gradients import backward as backward, grad as grad

not_offered.guard(globals())
