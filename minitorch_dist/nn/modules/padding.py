"""Layers that put a border around a signal: zeros, a constant, or what the signal itself offers."""

from __future__ import annotations

from typing import Any

from minitorch_dist.nn import functional as F
from minitorch_dist.nn.modules.dimensions import repeated
from minitorch_dist.nn.modules.module import Module
from minitorch_dist.tensors.tensor import Tensor


class _Pad(Module):
    """`padding` is one number, or (left, right[, top, bottom[, front, back]])."""

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


class ReflectionPad3d(_Pad):
    dims, mode = 3, "reflect"


class ReplicationPad1d(_Pad):
    """The border repeats the edge: a a | a b c | c c."""

    dims, mode = 1, "replicate"


class ReplicationPad2d(_Pad):
    dims, mode = 2, "replicate"


class ReplicationPad3d(_Pad):
    dims, mode = 3, "replicate"


class CircularPad1d(_Pad):
    """The border continues at the other end: b c | a b c | a b."""

    dims, mode = 1, "circular"

    def forward(self, input: Tensor) -> Tensor:
        allowed = (self.dims + 1, self.dims + 2)
        if input.array.ndim not in allowed:
            raise ValueError(
                f"expected {allowed[0]}D or {allowed[1]}D input (got {input.array.ndim}D input)"
            )
        return super().forward(input)


class CircularPad2d(CircularPad1d):
    dims = 2


class CircularPad3d(CircularPad1d):
    dims = 3


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


class ConstantPad3d(ConstantPad1d):
    dims = 3


class ZeroPad1d(_Pad):
    dims, mode = 1, "constant"


class ZeroPad2d(_Pad):
    dims, mode = 2, "constant"


class ZeroPad3d(_Pad):
    dims, mode = 3, "constant"
