"""Operators of DTensors: each rank computes with its part, and the result lies as the operands do.

    Shard(0) + Shard(0)          Shard(0)          the parts fit
    2 * Partial()                Partial()         a sum of doubles is a double sum
    Shard(0).sum()               Partial()         each rank has a summand

Operands that lie otherwise are to be redistributed by the program: a move costs messages, and is not made without a word.
A move forward is a move back for gradients.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

from minitorch_dist.distributed.tensor.dtensor import DTensor, placed
from minitorch_dist.distributed.tensor.part import here
from minitorch_dist.distributed.tensor.placements import Partial, Replicate
from minitorch_dist.tensors.core import grad_mode
from minitorch_dist.tensors.core.base import TensorBase
from minitorch_dist.tensors.tensor import Tensor

Operation = Callable[..., Any]


def local(tensor: DTensor) -> Tensor:
    """This rank's part, ready to be computed with."""
    recorded = grad_mode.current_mode() == grad_mode.ON
    if tensor.requires_grad and not tensor.is_recorded() and recorded:
        raise NotImplementedError(
            "a parameter of fully_shard records no gradient outside of its module's forward: compute with it in "
            "forward, or under no_grad()"
        )
    return here(tensor)


def without_summands(tensor: DTensor) -> DTensor:
    if not any(p.is_partial() for p in tensor.placements):
        return tensor
    lying = [Replicate() if p.is_partial() else p for p in tensor.placements]
    return tensor.redistribute(placements=lying)


def unary(operation: Operation, tensor: DTensor, linear: bool = False) -> DTensor:
    """operation(tensor), element by element. A `linear` one may be taken of summands."""
    if not linear:
        tensor = without_summands(tensor)
    return placed(operation(local(tensor)), tensor.device_mesh, tensor.placements, tensor.shape)


def elementwise(operation: Operation, x: Any, y: Any) -> Any:
    """`operation(x, y)`, element by element: of DTensors that lie alike, or one of both is a number."""
    if not isinstance(y, DTensor):
        if not _is_number(y):
            return NotImplemented
        linear = operation in (operator.mul, operator.truediv)
        return unary(lambda own: operation(own, y), x, linear)
    if not isinstance(x, DTensor):
        if not _is_number(x):
            return NotImplemented
        return unary(lambda own: operation(x, own), y, operation is operator.mul)
    if operation not in (operator.add, operator.sub):
        x, y = without_summands(x), without_summands(y)
    if (x.device_mesh, x.placements, x.shape) != (y.device_mesh, y.placements, y.shape):
        raise NotImplementedError(
            f"operators are offered between DTensors that lie alike, and not for {tuple(x.shape)} as {x.placements} and "
            f"{tuple(y.shape)} as {y.placements}: redistribute() one. PyTorch moves it by itself"
        )
    return placed(operation(local(x), local(y)), x.device_mesh, x.placements, x.shape)


def _is_number(value: Any) -> bool:
    """Whether it means the same on each rank. A plain tensor with dimensions may not."""
    if isinstance(value, TensorBase) and value.array.ndim:
        raise RuntimeError(
            "got mixed torch.Tensor and DTensor, need to convert all torch.Tensor to DTensor before calling "
            "distributed operators! (distribute_tensor does it; DTensor.to_local() is this rank's part)"
        )
    return isinstance(value, (int, float, complex, TensorBase))


def total(tensor: DTensor) -> DTensor:
    """The sum of all elements: a summand on each rank, where the tensor is cut."""
    lying = [Partial() if p.is_shard() else p for p in tensor.placements]
    return placed(local(tensor).sum(), tensor.device_mesh, lying, ())
