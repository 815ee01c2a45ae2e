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
from typing import Any, Final, TypedDict

import numpy as np

from minitorch_dist.tensors import dtypes, pools
from minitorch_dist.tensors.core.base import TensorBase
from minitorch_dist.tensors.core.operations import mul
from minitorch_dist.tensors.core.views import wrote
from minitorch_dist.tensors.core.without_warnings import silent
from minitorch_dist.tensors.tensor import Tensor

SAVED: Final = {
    "scale": "_scale",
    "growth_factor": "_growth_factor",
    "backoff_factor": "_backoff_factor",
    "growth_interval": "_growth_interval",
    "_growth_tracker": "_growth_tracker",
}


class OptimizerStage(TypedDict):
    """Where an optimizer is between two updates."""

    stage: str
    found_inf: bool


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
        self._device = device
        if enabled and device == "cuda" and not pools.count():
            warnings.warn(
                "torch.cuda.amp.GradScaler is enabled, but CUDA is not available.  Disabling. "
                'On the CPU say GradScaler("cpu").',
                stacklevel=2,
            )
            enabled = False
        self._enabled = enabled
        if enabled:
            if growth_factor <= 1.0:
                raise AssertionError(f"The growth factor must be > 1.0, got {growth_factor}")
            if backoff_factor >= 1.0:
                raise AssertionError(f"The backoff factor must be < 1.0, got {backoff_factor}")
        self._growth_factor, self._backoff_factor = growth_factor, backoff_factor
        self._growth_interval, self._growth_tracker = growth_interval, 0
        self._scale, self._was_used = float(init_scale), False
        self._states: weakref.WeakKeyDictionary[Any, OptimizerStage] = weakref.WeakKeyDictionary()

    # ---------------------------------------------------------------------------------- the four lines

    def scale(self, outputs: Any) -> Any:
        """A tensor, or tensors in lists and tuples, times the scale."""
        if not self._enabled:
            return outputs
        self._was_used = True
        if isinstance(outputs, TensorBase):
            return mul(outputs, self._scale)
        if isinstance(outputs, (list, tuple)):
            return type(outputs)([self.scale(one) for one in outputs])
        raise ValueError("outputs must be a Tensor or an iterable of Tensors")

    def unscale_(self, optimizer: Any) -> None:
        """Divide the gradients of this optimizer's parameters by the scale, once per step."""
        if not self._enabled:
            return
        self._check_used("unscale_")
        state = self._state(optimizer)
        if state["stage"] == "unscaled":
            raise RuntimeError(
                "unscale_() has already been called on this optimizer since the last update()."
            )
        if state["stage"] == "stepped":
            raise RuntimeError("unscale_() is being called after step().")
        grads = [p.grad for group in optimizer.param_groups for p in group["params"]]
        state["found_inf"] = self._agreed(
            _unscale([g for g in grads if g is not None], self._scale), grads
        )
        state["stage"] = "unscaled"

    def step(self, optimizer: Any, *args: Any, **kwargs: Any) -> Any:
        """`optimizer.step(…)`, unless a gradient was inf or nan; then None."""
        if not self._enabled:
            return optimizer.step(*args, **kwargs)
        if "closure" in kwargs:
            raise RuntimeError("Closure use is not currently supported if GradScaler is enabled.")
        self._check_used("step")
        state = self._state(optimizer)
        if state["stage"] == "stepped":
            raise RuntimeError("step() has already been called since the last update().")
        if state["stage"] == "ready":
            self.unscale_(optimizer)
        state["stage"] = "stepped"
        return None if state["found_inf"] else optimizer.step(*args, **kwargs)

    def update(self, new_scale: float | Tensor | None = None) -> None:
        """The next scale: `new_scale`, or smaller after inf and nan, or larger after long luck."""
        if not self._enabled:
            return
        self._check_used("update")
        if new_scale is not None:
            self._scale = float(new_scale.item() if isinstance(new_scale, Tensor) else new_scale)
        else:
            found = list(self._states.values())
            if not found:
                raise AssertionError("No inf checks were recorded prior to update.")
            if any(state["found_inf"] for state in found):
                self._scale, self._growth_tracker = self._scale * self._backoff_factor, 0
            else:
                self._growth_tracker += 1
                if self._growth_tracker == self._growth_interval:
                    larger = self._scale * self._growth_factor
                    self._scale = larger if np.isfinite(np.float32(larger)) else self._scale
                    self._growth_tracker = 0
        self._states.clear()

    # --------------------------------------------------------------------------------------- its state

    def _state(self, optimizer: Any) -> OptimizerStage:
        return self._states.setdefault(optimizer, OptimizerStage(stage="ready", found_inf=False))

    def _check_used(self, name: str) -> None:
        if not self._was_used:
            raise AssertionError(
                f"Attempted {name} but _scale is None.  This may indicate your script did not use "
                "scaler.scale(loss or outputs) earlier in the iteration."
            )

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
        return self._scale if self._enabled else 1.0

    def state_dict(self) -> dict[str, Any]:
        """The state that a checkpoint has to keep; empty if it is not enabled."""
        if not self._enabled:
            return {}
        return {key: getattr(self, name) for key, name in SAVED.items()}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        if not self._enabled:
            return
        if not state_dict:
            raise RuntimeError(
                "The source state dict is empty, possibly because it was saved from a disabled "
                "instance of GradScaler."
            )
        for key, name in SAVED.items():
            setattr(self, name, state_dict[key])
        self._scale = float(self._scale)


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
