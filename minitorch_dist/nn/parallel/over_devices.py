"""Copies between simulated devices that gradients travel back through.

Broadcast   a tensor to all devices          its gradient is the sum of theirs
Scatter     a part of a tensor to each       its gradient is theirs, one after the other
Gather      one tensor of several parts      each gets its part of the gradient
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Any

from minitorch_dist.autograd.function import Function
from minitorch_dist.nn.parallel import comm


class Broadcast(Function):
    """All tensors to all devices: the first device's, then the second's, …"""

    @staticmethod
    def forward(ctx: Any, targets: Sequence[Any], *inputs: Any) -> Any:
        ctx.count, ctx.device = len(inputs), inputs[0].device if inputs else None
        copies = comm.broadcast_coalesced(inputs, targets) if inputs else []
        return tuple(tensor for row in copies for tensor in row)

    @staticmethod
    def backward(ctx: Any, *grads: Any) -> Any:
        rows = [grads[start : start + ctx.count] for start in range(0, len(grads), ctx.count)]
        return None, *comm.reduce_add_coalesced(rows, ctx.device)


class Scatter(Function):
    @staticmethod
    def forward(ctx: Any, targets: Sequence[Any], sizes: Any, dim: int, input: Any) -> Any:
        ctx.dim, ctx.device = dim, input.device
        return tuple(comm.scatter(input, targets, sizes, dim))

    @staticmethod
    def backward(ctx: Any, *grads: Any) -> Any:
        return None, None, None, comm.gather(grads, ctx.dim, ctx.device)


class Gather(Function):
    @staticmethod
    def forward(ctx: Any, target: Any, dim: int, *inputs: Any) -> Any:
        ctx.devices = [tensor.device for tensor in inputs]
        ctx.dim, ctx.scalars = dim, all(tensor.dim() == 0 for tensor in inputs) and dim == 0
        if ctx.scalars:
            warnings.warn(
                "Was asked to gather along dimension 0, but all input tensors were scalars; will "
                "instead unsqueeze and return a vector.",
                stacklevel=4,
            )
            inputs = tuple(tensor.reshape(1) for tensor in inputs)
        ctx.sizes = [tensor.shape[dim] for tensor in inputs]
        return comm.gather(inputs, dim, target)

    @staticmethod
    def backward(ctx: Any, grad: Any) -> Any:
        parts = list(comm.scatter(grad, ctx.devices, ctx.sizes, ctx.dim))
        if ctx.scalars:
            parts = [part[0] for part in parts]
        return None, None, *parts
