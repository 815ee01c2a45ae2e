"""Convolution layers: one small kernel slides over the signal (`tensors.ops` has the arithmetic)."""

from __future__ import annotations

import math
from typing import Any, ClassVar

from minitorch_dist.nn import functional as F, init
from minitorch_dist.nn.modules.dimensions import repeated
from minitorch_dist.nn.modules.module import Module
from minitorch_dist.nn.parameter import Parameter
from minitorch_dist.tensors.makers import creation
from minitorch_dist.tensors.tensor import Tensor

PADDINGS = ("valid", "same")


class _ConvNd(Module):
    """The common part of all convolutions: weight (out, in / groups, *kernel), bias (out)."""

    weight: Tensor
    bias: Tensor | None
    padding: Any  # one number per dimension, or "same" or "valid"
    convolve: ClassVar[Any]  # a staticmethod
    dims: int
    transposed = False

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        kernel_size: Any,
        stride: Any = 1,
        padding: Any = 0,
        dilation: Any = 1,
        groups: int = 1,
        bias: bool = True,
        padding_mode: str = "zeros",
        device: Any = None,
        dtype: Any = None,
        *,
        output_padding: Any = 0,
    ) -> None:
        super().__init__()
        if groups <= 0:
            raise ValueError("groups must be a positive integer")
        if in_channels % groups:
            raise ValueError("in_channels must be divisible by groups")
        if out_channels % groups:
            raise ValueError("out_channels must be divisible by groups")
        if padding_mode != "zeros":
            raise NotImplementedError(
                f"padding_mode={padding_mode!r} is not offered: zeros are; PyTorch has other modes"
            )
        self.in_channels, self.out_channels, self.groups = in_channels, out_channels, groups
        self.kernel_size = repeated(kernel_size, self.dims)
        self.stride = repeated(stride, self.dims)
        self.padding = padding if isinstance(padding, str) else repeated(padding, self.dims)
        self.dilation = repeated(dilation, self.dims)
        self.output_padding = repeated(output_padding, self.dims)
        self._check_padding()
        ends = (in_channels, out_channels) if self.transposed else (out_channels, in_channels)
        shape = (ends[0], ends[1] // groups, *self.kernel_size)
        self.weight = Parameter(creation.empty(shape, device=device, dtype=dtype))
        if bias:
            self.bias = Parameter(creation.empty(out_channels, device=device, dtype=dtype))
        else:
            self.register_parameter("bias", None)
        self.reset_parameters()

    def _check_padding(self) -> None:
        if isinstance(self.padding, str) and self.padding not in PADDINGS:
            raise ValueError(f"Invalid padding string {self.padding!r}, should be one of {PADDINGS}")
        if self.padding == "same" and any(s != 1 for s in self.stride):
            raise ValueError("padding='same' is not supported for strided convolutions")

    def reset_parameters(self) -> None:
        """Weights and biases uniform in ±1/√fan_in."""
        init.kaiming_uniform_(self.weight, a=math.sqrt(5))
        if self.bias is not None:
            fan_in, _ = init._calculate_fan_in_and_fan_out(self.weight)
            bound = 1 / math.sqrt(fan_in) if fan_in else 0.0
            init.uniform_(self.bias, -bound, bound)

    def forward(self, input: Tensor) -> Tensor:
        return self.convolve(  # type: ignore[no-any-return]
            input, self.weight, self.bias, self.stride, self.padding, self.dilation, self.groups
        )

    def extra_repr(self) -> str:
        text = f"{self.in_channels}, {self.out_channels}, kernel_size={self.kernel_size}, stride={self.stride}"
        if self.padding != (0,) * len(self.padding):
            text += f", padding={self.padding}"
        if self.dilation != (1,) * self.dims:
            text += f", dilation={self.dilation}"
        if self.output_padding != (0,) * self.dims:
            text += f", output_padding={self.output_padding}"
        if self.groups != 1:
            text += f", groups={self.groups}"
        if self.bias is None:
            text += ", bias=False"
        return text


class Conv1d(_ConvNd):
    """Over (N, C, L) or (C, L)."""

    convolve, dims = staticmethod(F.conv1d), 1


class Conv2d(_ConvNd):
    """Over (N, C, H, W) or (C, H, W).

    Args:
        in_channels: C of the input.
        out_channels: C of the output.
        kernel_size: The sides of the kernel: a number, or two.
        stride: The distance of two places.
        padding: Zeros around the input; also "same" or "valid".
        dilation: The distance of two elements of the kernel.
        groups: Into how many parts the channels are cut.
        bias: Add a bias.
        padding_mode: "zeros".
        device: The simulated device of its parameters.
        dtype: The type of its parameters.
        output_padding: For transposed convolutions.

    Example:
        >>> nn.Conv2d(3, 8, 3, padding=1)(torch.ones(1, 3, 16, 16)).shape
        torch.Size([1, 8, 16, 16])
    """

    convolve, dims = staticmethod(F.conv2d), 2


class ConvTranspose2d(_ConvNd):
    """The gradient of a convolution with respect to its input, as a layer: weight (in, out / groups, …).

    Strides leave the size of the output open; `output_padding` adds to it on one side.
    """

    convolve, dims = staticmethod(F.conv_transpose2d), 2
    transposed = True

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        kernel_size: Any,
        stride: Any = 1,
        padding: Any = 0,
        output_padding: Any = 0,
        groups: int = 1,
        bias: bool = True,
        dilation: Any = 1,
        padding_mode: str = "zeros",
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__(in_channels, out_channels, kernel_size, stride, padding, dilation, groups,
                         bias, padding_mode, device, dtype, output_padding=output_padding)  # fmt: skip

    def forward(self, input: Tensor) -> Tensor:
        return self.convolve(  # type: ignore[no-any-return]
            input, self.weight, self.bias, self.stride, self.padding, self.output_padding, self.groups, self.dilation
        )
