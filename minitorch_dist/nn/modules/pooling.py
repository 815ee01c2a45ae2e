"""Layers that summarise neighbourhoods: by their largest value or by their mean."""

from __future__ import annotations

from typing import Any

from minitorch_dist.nn import functional as F
from minitorch_dist.nn.modules.applied import Applied


class MaxPool2d(Applied):
    """The largest value of each window."""

    function = staticmethod(F.max_pool2d)
    options = ("kernel_size", "stride", "padding", "dilation")

    def __init__(self, kernel_size: Any, stride: Any = None, padding: Any = 0, dilation: Any = 1) -> None:
        super().__init__()
        self.kernel_size, self.stride = kernel_size, kernel_size if stride is None else stride
        self.padding, self.dilation = padding, dilation

    def extra_repr(self) -> str:
        return f"{super().extra_repr()}, ceil_mode=False"  # as torch shows it


class AvgPool2d(Applied):
    """The mean of each window. Padding counts as zeros."""

    function = staticmethod(F.avg_pool2d)
    options = ("kernel_size", "stride", "padding")

    def __init__(self, kernel_size: Any, stride: Any = None, padding: Any = 0) -> None:
        super().__init__()
        self.kernel_size, self.stride = kernel_size, kernel_size if stride is None else stride
        self.padding = padding


class AdaptiveAvgPool2d(Applied):
    """The output has this size for any size of the input: the windows are chosen accordingly."""

    function = staticmethod(F.adaptive_avg_pool2d)
    options = ("output_size",)

    def __init__(self, output_size: Any) -> None:
        super().__init__()
        self.output_size = output_size
