"""Modules as functions of their parameters: PyTorch's `torch.func`, as far as it is offered."""

from minitorch_dist.func.calling import functional_call as functional_call
