"""Collectives as differentiable functions: what goes one way, its gradient goes the other.

    forward            backward
    all_reduce         all_reduce          everybody's result depends on everybody's input
    all_gather         reduce_scatter
    reduce_scatter     all_gather
    all_to_all         all_to_all

The loss that is differentiated is the sum of all ranks' losses. So every rank has to run backward,
like every rank had to run forward. Results are new tensors; inputs stay as they are.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from minitorch_dist.autograd.function import Function
from minitorch_dist.distributed.groups import ProcessGroup, resolve
from minitorch_dist.distributed.reduce_op import RedOpType, ReduceOp
from minitorch_dist.distributed.torch_api import tensor_collectives
from minitorch_dist.tensors.core import base
from minitorch_dist.tensors.tensor import Tensor

Op = ReduceOp | RedOpType
SUM = ReduceOp.SUM


def _own(tensor: Tensor) -> Tensor:
    """A copy in one piece, without history."""
    return base.new(Tensor, tensor.array.copy(order="C"), tensor.device)


def _empty(shape: Sequence[int], like: Tensor) -> Tensor:
    return base.new(Tensor, np.empty(shape, like.array.dtype, like=like.array), like.device)


class _AllReduce(Function):
    @staticmethod
    def forward(ctx: Any, op: Op, group: ProcessGroup | None, tensor: Tensor) -> Tensor:
        if op not in (SUM, ReduceOp.AVG) and tensor.requires_grad:
            raise RuntimeError(
                f"all_reduce with {op} has no gradient here: its derivative is not a sum. "
                "Use SUM or AVG, or detach() the tensor"
            )
        ctx.op, ctx.group = op, group
        out = _own(tensor)
        tensor_collectives.all_reduce(out, op, group)
        return out

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> Any:
        return None, None, _AllReduce.apply(ctx.op, ctx.group, grad)


class _AllGather(Function):
    @staticmethod
    def forward(ctx: Any, group: Any, tensor: Tensor) -> Any:
        ctx.group = group
        outs = [_empty(tensor.array.shape, tensor) for _ in range(resolve(group).size())]
        tensor_collectives.all_gather(outs, _own(tensor), group)
        return tuple(outs)

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> Any:
        return None, _ReduceScatter.apply(SUM, ctx.group, grads[0], *grads)


class _ReduceScatter(Function):
    @staticmethod
    def forward(ctx: Any, op: Op, group: Any, like: Tensor, *inputs: Tensor) -> Any:
        ctx.op, ctx.group = op, group
        out = _empty(like.array.shape, like)
        tensor_collectives.reduce_scatter(out, [_own(t) for t in inputs], op, group)
        return out

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> Any:
        outs = _AllGather.apply(ctx.group, grad)
        if ctx.op == ReduceOp.AVG:
            outs = [out / resolve(ctx.group).size() for out in outs]
        return None, None, None, *outs


class _AllToAll(Function):
    @staticmethod
    def forward(ctx: Any, group: Any, shapes: Any, *inputs: Tensor) -> Any:
        ctx.group = group
        ctx.shapes = [t.array.shape for t in inputs]
        outs = [_empty(shape, inputs[0]) for shape in shapes]
        tensor_collectives.all_to_all(outs, [_own(t) for t in inputs], group)
        return tuple(outs)

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> Any:
        return None, None, *_AllToAll.apply(ctx.group, ctx.shapes, *grads)


# ------------------------------------------------------------------------------- torch's functions


def all_reduce(tensor: Tensor, op: Op = SUM, group: ProcessGroup | None = None) -> Tensor:
    return _AllReduce.apply(op, group, tensor)  # type: ignore[no-any-return]


def all_gather(tensor: Tensor, group: ProcessGroup | None = None) -> tuple[Tensor, ...]:
    return _AllGather.apply(group, tensor)  # type: ignore[no-any-return]


def reduce_scatter(output: Tensor, input_list: list[Tensor], op: Op = SUM, group: ProcessGroup | None = None) -> Tensor:
    """A new tensor like `output`: this rank's part of the reduction."""
    return _ReduceScatter.apply(op, group, output, *input_list)  # type: ignore[no-any-return]


def all_to_all(
    output_tensor_list: list[Tensor], input_tensor_list: list[Tensor], group: ProcessGroup | None = None
) -> tuple[Tensor, ...]:
    """New tensors like those of `output_tensor_list`."""
    shapes = [t.array.shape for t in output_tensor_list]
    return _AllToAll.apply(group, shapes, *input_tensor_list)  # type: ignore[no-any-return]
