"""Operations of three tensors: products with a factor added."""

from __future__ import annotations

from minitorch_dist.tensors.core.base import Number, T
from minitorch_dist.tensors.core.operations import add, mul
from minitorch_dist.tensors.core.views import inplace
from minitorch_dist.tensors.ops.elementwise.division import div


def addcmul(input: T, tensor1: T, tensor2: T, *, value: Number = 1) -> T:
    """input + value * tensor1 * tensor2"""
    return add(input, mul(tensor1, tensor2), alpha=value)


def addcdiv(input: T, tensor1: T, tensor2: T, *, value: Number = 1) -> T:
    """input + value * tensor1 / tensor2"""
    return add(input, div(tensor1, tensor2), alpha=value)


addcmul_, addcdiv_ = inplace(addcmul), inplace(addcdiv)
