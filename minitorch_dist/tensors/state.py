"""A tensor's fields as torch shows them, and its refusals to store something else in them.

The core's `TensorBase` has the fields; `Tensor` adds the operations.
"""

from __future__ import annotations

import warnings
from typing import Any, TypeVar

from minitorch_dist.tensors import dtypes
from minitorch_dist.tensors.core import base, grad_mode, observers
from minitorch_dist.tensors.core.base import Array, TensorBase
from minitorch_dist.tensors.core.device_labels import CPU

S = TypeVar("S", bound="TensorState")


class TensorState(TensorBase):
    # ------------------------------------------------------------------ where it stands in memory

    @property
    def dtype(self) -> dtypes.dtype:
        return dtypes.FROM_NUMPY[self.array.dtype]

    @property
    def _version(self) -> int:
        """How often this storage has been written in place."""
        if self._inference:
            raise RuntimeError("Inference tensors do not track version counter.")
        return self.storage.version

    def companion(self, array: Array) -> Any:
        """A tensor that belongs to this one, element by element: a gradient's average, a mask."""
        return base.new(self.plain, array, self.storage.device)

    def is_contiguous(self, memory_format: Any = None) -> bool:
        """Whether the elements follow each other row by row (or channel by channel, if asked)."""
        x = self.array
        if str(memory_format) == "torch.channels_last" and x.ndim == 4:
            x = x.transpose(0, 2, 3, 1)
        return bool(x.flags.c_contiguous)

    def get_device(self) -> int:
        """The index of the simulated accelerator this tensor is on; -1 on the CPU."""
        index = self.storage.device.index
        return -1 if index is None else index

    # ------------------------------------------------------------------- where it stands in a graph

    @property
    def requires_grad(self) -> bool:
        """Whether gradients flow to this tensor or, if it is a view, to its base."""
        return self._requires_grad or (self._base is not None and self._base._requires_grad)

    @requires_grad.setter
    def requires_grad(self, value: bool) -> None:
        if self._grad_fn is not None:
            if value:
                return
            raise RuntimeError(
                "you can only change requires_grad flags of leaf variables. If you want to use a "
                "computed variable in a subgraph that doesn't require differentiation use "
                "var_no_grad = var.detach()."
            )
        if value and self.array.dtype.kind in "iub":
            raise RuntimeError("only Tensors of floating point dtype can require gradients")
        if value and self._inference and grad_mode.mode.get() != grad_mode.INFERENCE:
            raise RuntimeError(
                "Setting requires_grad=True on inference tensor outside InferenceMode is not allowed."
            )
        self._requires_grad = bool(value)

    def is_inference(self) -> bool:
        """Whether it was made in `inference_mode`, and can therefore never enter a graph."""
        return self._inference

    @property
    def grad(self: S) -> S | None:
        """The gradient collected by the last backward passes; None until there was one."""
        if self._grad is None and self._grad_fn is not None and not self._retains_grad:
            warnings.warn(
                "The .grad attribute of a Tensor that is not a leaf Tensor is being accessed. Its "
                ".grad attribute won't be populated during autograd.backward(). If you indeed want "
                "the .grad field to be populated for a non-leaf Tensor, use .retain_grad() on the "
                "non-leaf Tensor.",
                UserWarning,
                stacklevel=2,
            )
        return self._grad  # type: ignore[no-any-return]

    @grad.setter
    def grad(self: S, value: S | None) -> None:
        if value is not None:
            if not isinstance(value, TensorBase):
                raise TypeError(
                    f"assigned grad expected to be a Tensor or None but got {type(value).__name__}"
                )
            if value is self:
                raise RuntimeError("can't assign Variable as its own grad")
            mine, theirs = self.array, value.array
            if (theirs.shape, theirs.dtype) != (mine.shape, mine.dtype):
                raise RuntimeError(
                    f"attempting to assign a gradient of size {list(theirs.shape)} and type {value.dtype} "
                    f"to a tensor of size {list(mine.shape)} and type {self.dtype}"
                )
            if value.storage.device is not self.storage.device:
                raise RuntimeError(
                    "attempting to assign a gradient located on device "
                    f"'{value.device}' to a tensor on device '{self.device}'."
                )
            if value.storage.device is not CPU:
                observers.memory.collected(value.array, value.storage.device)
        self._grad = value

    @grad.deleter
    def grad(self) -> None:
        self._grad = None
