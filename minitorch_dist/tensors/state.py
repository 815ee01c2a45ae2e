"""A tensor's fields as torch shows them.

The core's `TensorBase` has the fields; `Tensor` adds the operations.
"""

from __future__ import annotations

from typing import Any

from minitorch_dist.tensors import dtypes
from minitorch_dist.tensors.core import base
from minitorch_dist.tensors.core.base import Array, TensorBase


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

    def is_inference(self) -> bool:
        """Whether it was made in `inference_mode`, and can therefore never enter a graph."""
        return self._inference
