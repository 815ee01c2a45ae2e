"""The former names of `amp`, for devices."""

from __future__ import annotations

from typing import Any

from minitorch_dist import amp
from minitorch_dist.inventory import not_offered
from minitorch_dist.tensors import dtypes

not_offered.guard(globals())


class autocast(amp.autocast):
    """`amp.autocast("cuda", …)`"""

    def __init__(self, enabled: bool = True, dtype: dtypes.dtype = dtypes.float16, cache_enabled: bool = True) -> None:
        super().__init__("cuda", dtype, enabled, cache_enabled)


class GradScaler(amp.GradScaler):
    """`amp.GradScaler("cuda", …)`"""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__("cuda", *args, **kwargs)
