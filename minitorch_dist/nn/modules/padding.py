"""Layers that put a border around a signal: zeros, a constant, or what the signal itself offers."""

from __future__ import annotations

from typing import Any

from minitorch_dist.nn import functional as F
from minitorch_dist.nn.modules.dimensions import repeated
from minitorch_dist.nn.modules.module import Module
from minitorch_dist.tensors.tensor import Tensor


class _Pad(Module):
    """`padding` is one number, or (left, right[, top, bottom])."""

    dims: int
    mode: str

    def __init__(self, padding: Any) -> None:
        super().__init__()
        self.padding = repeated(padding, 2 * self.dims)

    def forward(self, input: Tensor) -> Tensor:
        return F.pad(input, self.padding, self.mode)

    def extra_repr(self) -> str:
        return f"{self.padding}"


class ReflectionPad1d(_Pad):
    """The border mirrors the signal without repeating its edge: c b | a b c | b a."""

    dims, mode = 1, "reflect"


class ReflectionPad2d(_Pad):
    dims, mode = 2, "reflect"


class ReplicationPad1d(_Pad):
    """The border repeats the edge: a a | a b c | c c."""

    dims, mode = 1, "replicate"


class ReplicationPad2d(_Pad):
    dims, mode = 2, "replicate"


class ZeroPad1d(_Pad):
    dims, mode = 1, "constant"


class ZeroPad2d(_Pad):
    dims, mode = 2, "constant"


class ConstantPad1d(_Pad):
    dims, mode = 1, "constant"

    def __init__(self, padding: Any, value: float) -> None:
        super().__init__(padding)
        self.value = value

    def forward(self, input: Tensor) -> Tensor:
        return F.pad(input, self.padding, self.mode, self.value)

    def extra_repr(self) -> str:
        return f"padding={self.padding}, value={self.value}"


class ConstantPad2d(ConstantPad1d):
    dims = 2
