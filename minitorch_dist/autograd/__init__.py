"""Gradients: `torch.autograd` under its own names. The engine itself stands in `tensors.engine`."""

from minitorch_dist.autograd import anomaly_mode as anomaly_mode
from minitorch_dist.autograd import function as function
from minitorch_dist.autograd import functional as functional
from minitorch_dist.autograd import graph as graph
from minitorch_dist.autograd import variable as variable
from minitorch_dist.autograd.anomaly_mode import detect_anomaly as detect_anomaly
from minitorch_dist.autograd.anomaly_mode import set_detect_anomaly as set_detect_anomaly
from minitorch_dist.autograd.function import Function as Function
from minitorch_dist.autograd.gradcheck import GradcheckError as GradcheckError
from minitorch_dist.autograd.gradcheck import gradcheck as gradcheck
from minitorch_dist.autograd.variable import Variable as Variable
from minitorch_dist.tensors import grad_mode as grad_mode
from minitorch_dist.tensors.grad_mode import enable_grad as enable_grad
from minitorch_dist.tensors.grad_mode import inference_mode as inference_mode
from minitorch_dist.tensors.grad_mode import is_grad_enabled as is_grad_enabled
from minitorch_dist.tensors.grad_mode import is_inference_mode_enabled as is_inference_mode_enabled
from minitorch_dist.tensors.grad_mode import no_grad as no_grad
from minitorch_dist.tensors.grad_mode import set_grad_enabled as set_grad_enabled
from minitorch_dist.tensors.ops.gradients import backward as backward
from minitorch_dist.tensors.ops.gradients import grad as grad
