"""Layers that deal channels out anew: into pixels, out of pixels, among themselves."""

from __future__ import annotations

from minitorch_dist.nn import functional as F
from minitorch_dist.nn.modules.module import Module
from minitorch_dist.tensors.tensor import Tensor


class PixelShuffle(Module):
    """(*, C·r², H, W) to (*, C, H·r, W·r): channels become pixels."""

    def __init__(self, upscale_factor: int) -> None:
        super().__init__()
        self.upscale_factor = upscale_factor

    def forward(self, input: Tensor) -> Tensor:
        return F.pixel_shuffle(input, self.upscale_factor)

    def extra_repr(self) -> str:
        return f"upscale_factor={self.upscale_factor}"
