"""The tensor class: every operation of `ops`, listed as a method."""

from __future__ import annotations

from minitorch_dist.tensors.base import TensorBase
from minitorch_dist.tensors.ops import activations, arithmetic, reductions


class Tensor(TensorBase):
    add = arithmetic.add
    add_ = arithmetic.add_
    mul = arithmetic.mul
    mul_ = arithmetic.mul_
    __add__ = __radd__ = arithmetic.add
    __mul__ = __rmul__ = arithmetic.mul
    __iadd__ = arithmetic.add_
    sum = reductions.sum
    relu = activations.relu
    relu_ = activations.relu_


TensorBase.plain = Tensor
