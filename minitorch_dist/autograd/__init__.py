"""Gradients: `torch.autograd` under its own names. The engine stands in `tensors.engine`."""

from minitorch_dist.tensors.grad_mode import enable_grad as enable_grad
from minitorch_dist.tensors.grad_mode import inference_mode as inference_mode
from minitorch_dist.tensors.grad_mode import is_grad_enabled as is_grad_enabled
from minitorch_dist.tensors.grad_mode import is_inference_mode_enabled as is_inference_mode_enabled
from minitorch_dist.tensors.grad_mode import no_grad as no_grad
from minitorch_dist.tensors.grad_mode import set_grad_enabled as set_grad_enabled
from minitorch_dist.tensors.ops.gradients import backward as backward
from minitorch_dist.tensors.ops.gradients import grad as grad
