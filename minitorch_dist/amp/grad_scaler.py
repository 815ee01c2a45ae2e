"""Gradients of a loss that was made larger, so that small ones are not lost in half precision.

    scaler.scale(loss).backward()       gradients are `scale` times too large
    scaler.unscale_(optimizer)          optional: divided again, for clipping; looks for inf and nan
    scaler.step(optimizer)              steps, unless one of them was inf or nan
    scaler.update()                     that halves the scale; long without it doubles it

Micikevicius et al., Mixed Precision Training, ICLR 2018 (arXiv:1710.03740). bfloat16 has float32's range and does
without; the four lines then change nothing but the scale.
"""

from __future__ import annotations

import warnings
import weakref
from typing import Any, Final

import numpy as np

from minitorch_dist.tensors import dtypes, pools
from minitorch_dist.tensors.core.base import TensorBase
from minitorch_dist.tensors.core.operations import mul
from minitorch_dist.tensors.core.views import wrote
from minitorch_dist.tensors.core.without_warnings import silent

SAVED: Final = ("scale", "growth_factor", "backoff_factor", "growth_interval", "_growth_tracker")


class GradScaler:
    """Scales losses, and finds the scale; `enabled=False` makes every method pass things through."""

    def __init__(
        self,
        device: str = "cuda",
        init_scale: float = 2.0**16,
        growth_factor: float = 2.0,
        backoff_factor: float = 0.5,
        growth_interval: int = 2000,
        enabled: bool = True,
    ) -> None:
        if enabled and device == "cuda" and not pools.count():
            words = 'GradScaler is enabled, but CUDA is not available. Disabling. On the CPU say GradScaler("cpu").'
            warnings.warn(words, stacklevel=2)
            enabled = False
        self._enabled = enabled
        self._state: dict[str, float] = dict(
            zip(SAVED, (init_scale, growth_factor, backoff_factor, growth_interval, 0), strict=True)
        )
        self._is_unusable: weakref.WeakKeyDictionary[Any, bool] = weakref.WeakKeyDictionary()
        """Of each optimizer since the last update: whether one of its gradients was inf or nan."""

    def scale(self, outputs: Any) -> Any:
        """A tensor, or tensors in lists and tuples, times the scale."""
        if not self._enabled:
            return outputs
        if isinstance(outputs, TensorBase):
            return mul(outputs, self._state["scale"])
        return type(outputs)([self.scale(one) for one in outputs])

    def unscale_(self, optimizer: Any) -> None:
        """Divide the gradients of this optimizer's parameters by the scale, once per step."""
        if not self._enabled:
            return
        if optimizer in self._is_unusable:
            raise RuntimeError("unscale_() has already been called on this optimizer since the last update().")
        grads = [p.grad for group in optimizer.param_groups for p in group["params"]]
        found = _unscale([g for g in grads if g is not None], self._state["scale"])
        self._is_unusable[optimizer] = self._agreed(found, grads)

    def step(self, optimizer: Any, *args: Any, **kwargs: Any) -> Any:
        """`optimizer.step(…)`, unless a gradient was inf or nan; then None."""
        if self._enabled:
            if optimizer not in self._is_unusable:
                self.unscale_(optimizer)
            if self._is_unusable[optimizer]:
                return None
        return optimizer.step(*args, **kwargs)

    def update(self) -> None:
        """The next scale: smaller after inf and nan, or larger after long luck."""
        state = self._state
        if any(self._is_unusable.values()):
            state["scale"] *= state["backoff_factor"]
            state["_growth_tracker"] = 0
        elif self._is_unusable:
            state["_growth_tracker"] += 1
            larger = state["scale"] * state["growth_factor"]
            if state["_growth_tracker"] == state["growth_interval"]:
                state["scale"] = larger if np.isfinite(np.float32(larger)) else state["scale"]
                state["_growth_tracker"] = 0
        self._is_unusable.clear()

    def _agreed(self, found_inf: bool, grads: list[Any]) -> bool:
        """Whether inf or nan was found, also by other ranks in their parts of a gradient."""
        meshes: dict[int, Any] = {}
        for grad in grads:
            if hasattr(grad, "device_mesh"):
                known = meshes.setdefault(id(grad.device_mesh), grad)
                if _cuts(grad) > _cuts(known):
                    meshes[id(grad.device_mesh)] = grad
        for grad in meshes.values():
            found_inf = bool(grad.norm_across(np.asarray(float(found_inf)), np.inf))
        return found_inf

    def is_enabled(self) -> bool:
        return self._enabled

    def get_scale(self) -> float:
        return self._state["scale"] if self._enabled else 1.0

    def state_dict(self) -> dict[str, Any]:
        """The state that a checkpoint has to keep; empty if it is not enabled."""
        return dict(self._state) if self._enabled else {}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        if self._enabled:
            self._state = {name: state_dict[name] for name in SAVED}


@silent
def _unscale(grads: list[Any], scale: float) -> bool:
    """Divide in place; whether anything is not finite."""
    found = False
    for grad in grads:
        if grad.array.dtype == dtypes.float16.numpy:
            raise ValueError("Attempting to unscale FP16 gradients.")
        local = grad._local_array() if hasattr(grad, "_local_array") else grad.array
        found = found or not bool(np.isfinite(local).all())
        local *= local.dtype.type(np.float32(1.0 / scale))
        wrote(grad, grad.array)
    return found


def _cuts(distributed: Any) -> int:
    """Along how many axes of its mesh a DTensor is cut."""
    return sum(placement.is_shard() for placement in distributed.placements)
