"""`with autocast("cpu"):` products in bfloat16, the rest as it comes. `tensors.ops.autocasting` says what
is cast, and to what; here is the block itself.

    with autocast("cpu", dtype=torch.bfloat16):
        loss = loss_fn(model(x), y)
    loss.backward()                             # outside: backward takes the types that forward had

Blocks nest: the inner one counts, also `enabled=False`. A block belongs to its thread.
"""

from __future__ import annotations

import functools
import warnings
from collections.abc import Callable
from typing import Any

from minitorch_dist.tensors import devices, dtypes, pools
from minitorch_dist.tensors.ops import autocasting
from minitorch_dist.tensors.ops.autocasting import DEFAULTS, Casting


class autocast:
    """A block, or a decorated function, whose products are computed in `dtype`.

    `cache_enabled=False` casts a parameter again each time that it is used.
    """

    def __init__(
        self,
        device_type: str,
        dtype: dtypes.dtype | None = None,
        enabled: bool = True,
        cache_enabled: bool | None = None,
    ) -> None:
        self.device = _device_type(device_type)
        self.fast_dtype = get_autocast_dtype(self.device) if dtype is None else dtype
        self._enabled, self._cache = (enabled and _is_possible(self.device, self.fast_dtype), cache_enabled)
        self._before: list[Casting | None] = []

    def __enter__(self) -> None:
        before = autocasting.present.get()
        self._before.append(before)
        types = {} if before is None else dict(before.types)
        named = DEFAULTS if before is None else before.named
        if self._enabled:
            types[self.device] = self.fast_dtype
        else:
            types.pop(self.device, None)
        cache = {} if before is None else before.cache  # one for all blocks within the outermost
        if self._cache is not None:
            cache = (cache or {}) if self._cache else None
        autocasting.present.set(Casting(types, cache, {**named, self.device: self.fast_dtype}))

    def __exit__(self, *exception: object) -> None:
        autocasting.present.set(self._before.pop())

    def __call__(self, function: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(function)
        def decorated(*args: Any, **kwargs: Any) -> Any:
            with autocast(self.device, self.fast_dtype, self._enabled, self._cache):
                return function(*args, **kwargs)

        return decorated

    def __repr__(self) -> str:
        state = str(self.fast_dtype) if self._enabled else "off"
        return f"<autocast on {self.device}: {state}>"


def _device_type(given: Any) -> str:
    if not isinstance(given, str):
        raise ValueError(f"Expected `device_type` of type `str`, got: `{type(given)}`")
    return devices.device(given).type


def _is_possible(device: str, dtype: dtypes.dtype) -> bool:
    if device == "cuda" and not pools.count():
        warnings.warn("CUDA is not available. Disabling autocast.", stacklevel=3)
        return False
    if dtype.numpy not in dtypes.HALVES:
        words = f"In {device.upper()} autocast, but the target dtype is not supported: take bfloat16 or float16."
        warnings.warn(f"{words} Disabling autocast.", stacklevel=3)
        return False
    return True


# ------------------------------------------------------------------------------------- what is asked for


def is_autocast_enabled(device_type: str = "cuda") -> bool:
    """Whether a block for this kind of device is open in this thread."""
    asked = autocasting.present.get()
    return asked is not None and device_type in asked.types


def get_autocast_dtype(device_type: str) -> dtypes.dtype:
    """The lower type: of the innermost block (even if it is off), else the one that a block would take."""
    asked = autocasting.present.get()
    return (DEFAULTS if asked is None else asked.named).get(device_type, dtypes.float16)
