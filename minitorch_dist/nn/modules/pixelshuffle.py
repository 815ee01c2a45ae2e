"""A layer that deals channels out anew as pixels."""

from __future__ import annotations

from minitorch_dist.nn import functional as F
from minitorch_dist.nn.modules.applied import Applied


class PixelShuffle(Applied):
    """(*, C·r², H, W) to (*, C, H·r, W·r): channels become pixels."""

    function, options = staticmethod(F.pixel_shuffle), ("upscale_factor",)

    def __init__(self, upscale_factor: int) -> None:
        super().__init__()
        self.upscale_factor = upscale_factor
