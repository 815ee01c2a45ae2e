"""`torch.nn.attention`: which kernels may compute `scaled_dot_product_attention`.

There is one way here, in `tensors.ops.layers.attention`. A program may choose among torch's, and the numbers stay the same.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from enum import Enum

from minitorch_dist import not_offered

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


@contextmanager
def sdpa_kernel(
    backends: list[SDPBackend] | SDPBackend, set_priority: bool = False
) -> Iterator[dict[str, object]]:
    """Choose kernels for the length of a block. That changes nothing."""
    if not isinstance(backends, list | SDPBackend):
        raise AssertionError(
            "Backend must be an instance of SDPBackend or a list of SDPBackend instances, got "
            f"{type(backends).__name__}"
        )
    yield {}


not_offered.guard(globals())
