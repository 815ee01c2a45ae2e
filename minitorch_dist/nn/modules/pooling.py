"""Layers that summarise neighbourhoods: by their largest value or by their mean."""

from __future__ import annotations

from typing import Any

from minitorch_dist.nn import functional as F
from minitorch_dist.nn.modules.applied import Applied
from minitorch_dist.nn.modules.dimensions import repeated


class MaxPool2d(Applied):
    """The largest value of each window."""

    function = staticmethod(F.max_pool2d)
    options = ("kernel_size", "stride", "padding", "dilation", "ceil_mode")

    def __init__(
        self,
        kernel_size: Any,
        stride: Any = None,
        padding: Any = 0,
        dilation: Any = 1,
        ceil_mode: bool = False,
    ) -> None:
        super().__init__()
        self.kernel_size, self.stride = kernel_size, kernel_size if stride is None else stride
        self.padding, self.dilation = padding, dilation
        self.ceil_mode = ceil_mode


class MaxPool1d(MaxPool2d):
    function = staticmethod(F.max_pool1d)


class _AvgPool(Applied):
    """The mean of each window. Padding counts as zeros unless told otherwise."""

    options = ("kernel_size", "stride", "padding", "ceil_mode", "count_include_pad")

    def __init__(
        self,
        kernel_size: Any,
        stride: Any = None,
        padding: Any = 0,
        ceil_mode: bool = False,
        count_include_pad: bool = True,
    ) -> None:
        super().__init__()
        self.kernel_size, self.stride = kernel_size, kernel_size if stride is None else stride
        self.padding, self.ceil_mode = padding, ceil_mode
        self.count_include_pad = count_include_pad

    def extra_repr(self) -> str:
        return f"kernel_size={self.kernel_size}, stride={self.stride}, padding={self.padding}"


class AvgPool1d(_AvgPool):
    function = staticmethod(F.avg_pool1d)

    def extra_repr(self) -> str:
        sizes = (repeated(size, 1) for size in (self.kernel_size, self.stride, self.padding))
        return "kernel_size={}, stride={}, padding={}".format(*sizes)


class AvgPool2d(_AvgPool):
    function = staticmethod(F.avg_pool2d)


class _Adaptive(Applied):
    """The output has this size for any size of the input: the windows are chosen accordingly."""

    options = ("output_size",)

    def __init__(self, output_size: Any) -> None:
        super().__init__()
        self.output_size = output_size


class AdaptiveAvgPool1d(_Adaptive):
    function = staticmethod(F.adaptive_avg_pool1d)


class AdaptiveAvgPool2d(_Adaptive):
    function = staticmethod(F.adaptive_avg_pool2d)
