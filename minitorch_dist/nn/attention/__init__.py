"""`torch.nn.attention`: which kernels may compute `scaled_dot_product_attention`; `flex_attention` has a module.

There is one way here, in `tensors.ops.layers.attention`. A program may choose among torch's; that sets the flags
that `backends.cuda` shows, and the numbers stay the same.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from enum import Enum

from minitorch_dist.backends import cuda

WARN_FOR_UNFUSED_KERNELS = False


class SDPBackend(Enum):
    """The kernels that torch has."""

    ERROR = -1
    MATH = 0
    FLASH_ATTENTION = 1
    EFFICIENT_ATTENTION = 2
    CUDNN_ATTENTION = 3
    OVERRIDEABLE = 4

    def __int__(self) -> int:
        return int(self.value)


_FLAGS = {
    SDPBackend.MATH: "math",
    SDPBackend.FLASH_ATTENTION: "flash",
    SDPBackend.EFFICIENT_ATTENTION: "mem_efficient",
    SDPBackend.CUDNN_ATTENTION: "cudnn",
}


@contextmanager
def sdpa_kernel(
    backends: list[SDPBackend] | SDPBackend, set_priority: bool = False
) -> Iterator[dict[str, object]]:
    """For the length of a block, set the flags of these kernels and clear those of the others."""
    if not isinstance(backends, list | SDPBackend):
        raise AssertionError(
            "Backend must be an instance of SDPBackend or a list of SDPBackend instances, got "
            f"{type(backends).__name__}"
        )
    chosen = [backends] if isinstance(backends, SDPBackend) else backends
    before = cuda.allowed_kernels()
    cuda.allow_kernels(frozenset(_FLAGS[each] for each in chosen if each in _FLAGS))
    try:
        yield {}
    finally:
        cuda.allow_kernels(before)
