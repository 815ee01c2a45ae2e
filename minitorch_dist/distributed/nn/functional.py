"""The collectives as differentiable functions: what goes one way, its gradient goes the other.

    forward            backward
    all_reduce         all_reduce          everybody's result depends on everybody's input
    broadcast          reduce              one input, P results: gradients add up at the root
    reduce             broadcast
    all_gather         reduce_scatter
    reduce_scatter     all_gather
    gather             scatter             and the other way round
    all_to_all         all_to_all

The loss that is differentiated is the sum of all ranks' losses. So every rank has to run backward,
like every rank had to run forward. Results are new tensors; inputs stay as they are.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from minitorch_dist.autograd.function import Function
from minitorch_dist.distributed.reduce_op import RedOpType, ReduceOp
from minitorch_dist.distributed.torch_api import tensor_collectives
from minitorch_dist.distributed.torch_api.process_group import ProcessGroup, or_default
from minitorch_dist.tensors.core import base
from minitorch_dist.tensors.tensor import Tensor

Op = ReduceOp | RedOpType
SUM = ReduceOp.SUM


def _own(tensor: Tensor) -> Any:
    """A copy in one piece, without history."""
    return base.new(Tensor, tensor.array.copy(order="C"), tensor.device)


def _empty(shape: Sequence[int], like: Tensor) -> Any:
    return base.new(Tensor, np.empty(shape, like.array.dtype, like=like.array), like.device)


class _AllReduce(Function):
    @staticmethod
    def forward(ctx: Any, op: Op, group: Any, tensor: Tensor) -> Any:
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


class _Broadcast(Function):
    @staticmethod
    def forward(ctx: Any, src: int, group: Any, tensor: Tensor) -> Any:
        ctx.src, ctx.group = src, group
        out = _own(tensor)
        tensor_collectives.broadcast(out, src, group)
        return out

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> Any:
        out = _Reduce.apply(ctx.src, SUM, ctx.group, grad)
        if not _is_rank(ctx.group, ctx.src):
            out = _nothing(out)
        return None, None, out


class _Reduce(Function):
    @staticmethod
    def forward(ctx: Any, dst: int, op: Op, group: Any, tensor: Tensor) -> Any:
        ctx.dst, ctx.op, ctx.group = dst, op, group
        out = _own(tensor)
        tensor_collectives.reduce(out, dst, op, group)
        return out

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> Any:
        out = _Broadcast.apply(ctx.dst, ctx.group, grad)
        if ctx.op == ReduceOp.AVG:
            out = out / or_default(ctx.group).size()
        return None, None, None, out


class _AllGather(Function):
    @staticmethod
    def forward(ctx: Any, group: Any, tensor: Tensor) -> Any:
        ctx.group = group
        outs = [_empty(tensor.array.shape, tensor) for _ in range(or_default(group).size())]
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
            outs = [out / or_default(ctx.group).size() for out in outs]
        return None, None, None, *outs


class _Gather(Function):
    @staticmethod
    def forward(ctx: Any, dst: int, group: Any, tensor: Tensor) -> Any:
        ctx.dst, ctx.group = dst, group
        outs = [_zeros(tensor) for _ in range(or_default(group).size())]
        into = outs if _is_rank(group, dst) else None
        tensor_collectives.gather(_own(tensor), into, dst, group)
        return tuple(outs)

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> Any:
        return None, None, _Scatter.apply(ctx.dst, ctx.group, *grads)


class _Scatter(Function):
    @staticmethod
    def forward(ctx: Any, src: int, group: Any, *tensors: Tensor) -> Any:
        ctx.src, ctx.group = src, group
        if any(t.array.shape != tensors[0].array.shape for t in tensors):
            raise ValueError("scatter takes tensors of one shape, one for each rank")
        out = _empty(tensors[0].array.shape, tensors[0])
        parts = [_own(t) for t in tensors] if _is_rank(group, src) else None
        tensor_collectives.scatter(out, parts, src, group)
        return out

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> Any:
        return None, None, *_Gather.apply(ctx.src, ctx.group, grad)


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


class _AllToAllSingle(Function):
    @staticmethod
    def forward(ctx: Any, group: Any, shape: Any, got: Any, given: Any, input: Tensor) -> Any:
        ctx.group, ctx.got, ctx.given = group, got, given
        ctx.shape = input.array.shape
        out = _empty(shape, input)
        tensor_collectives.all_to_all_single(out, _own(input), got, given, group)
        return out

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> Any:
        out = _AllToAllSingle.apply(ctx.group, ctx.shape, ctx.given, ctx.got, grad)
        return None, None, None, None, out


def _zeros(like: Tensor) -> Any:
    return base.new(
        Tensor, np.zeros(like.array.shape, like.array.dtype, like=like.array), like.device
    )


def _nothing(like: Tensor) -> Any:
    """Zeros with the history of `like`, so that every rank takes part when this is differentiated, too."""
    everywhere = base.new(Tensor, np.ones_like(like.array, bool), like.device)
    return like.masked_fill(everywhere, 0)


def _is_rank(group: Any, world_rank: int) -> bool:
    which = or_default(group)
    return which.ranks[which.rank()] == world_rank


# ------------------------------------------------------------------------------- torch's functions


def all_reduce(tensor: Tensor, op: Op = SUM, group: ProcessGroup | None = None) -> Tensor:
    return _AllReduce.apply(op, group, tensor)  # type: ignore[no-any-return]


def broadcast(tensor: Tensor, src: int, group: ProcessGroup | None = None) -> Tensor:
    return _Broadcast.apply(src, group, tensor)  # type: ignore[no-any-return]


def reduce(tensor: Tensor, dst: int, op: Op = SUM, group: ProcessGroup | None = None) -> Tensor:
    """On `dst` the reduction; elsewhere the input's values."""
    return _Reduce.apply(dst, op, group, tensor)  # type: ignore[no-any-return]


def all_gather(tensor: Tensor, group: ProcessGroup | None = None) -> tuple[Tensor, ...]:
    return _AllGather.apply(group, tensor)  # type: ignore[no-any-return]


def reduce_scatter(
    output: Tensor, input_list: list[Tensor], op: Op = SUM, group: ProcessGroup | None = None
) -> Tensor:
    """A new tensor like `output`: this rank's part of the reduction."""
    return _ReduceScatter.apply(op, group, output, *input_list)  # type: ignore[no-any-return]


def gather(tensor: Tensor, dst: int = 0, group: ProcessGroup | None = None) -> tuple[Tensor, ...]:
    """On `dst` everybody's tensor; zeros elsewhere."""
    return _Gather.apply(dst, group, tensor)  # type: ignore[no-any-return]


def scatter(tensors: list[Tensor], src: int = 0, group: ProcessGroup | None = None) -> Tensor:
    return _Scatter.apply(src, group, *tensors)  # type: ignore[no-any-return]


def all_to_all(
    output_tensor_list: list[Tensor],
    input_tensor_list: list[Tensor],
    group: ProcessGroup | None = None,
) -> tuple[Tensor, ...]:
    """New tensors like those of `output_tensor_list`."""
    shapes = [t.array.shape for t in output_tensor_list]
    return _AllToAll.apply(group, shapes, *input_tensor_list)  # type: ignore[no-any-return]


def all_to_all_single(
    output: Tensor,
    input: Tensor,
    output_split_sizes: list[int] | None = None,
    input_split_sizes: list[int] | None = None,
    group: ProcessGroup | None = None,
) -> Tensor:
    """A new tensor like `output`."""
    shape = output.array.shape
    return _AllToAllSingle.apply(group, shape, output_split_sizes, input_split_sizes, input)  # type: ignore[no-any-return]
