"""Where a view lies in its base, for gradients that record: by the places of its elements, and no strides."""

from __future__ import annotations

import copy
from typing import Any

import numpy as np

from minitorch_dist.tensors.core.view_geometry import Window
from minitorch_dist.tensors.double_backward.recording_array import (
    NotDifferentiable,
    RecordingArray,
    constant,
    recording,
)


class RecordingWindow:
    """The methods of `Window`, for recording arrays."""

    def __init__(self, window: Window) -> None:
        size = int(np.prod(window.shape))
        numbers = copy.copy(window)
        numbers.dtype = np.dtype(f"i{window.itemsize}")
        if size > np.iinfo(numbers.dtype).max:
            raise NotDifferentiable("a write to a part of so large a tensor")
        order = np.arange(size, dtype=numbers.dtype).reshape(window.shape)
        self.shape, self.dtype = window.shape, window.dtype
        self.places = numbers.cut(order).astype(np.intp)  # of the view's elements, in the base

    def widen(self, grad: RecordingArray) -> Any:
        whole = recording(constant(np.zeros(self.shape, self.dtype)))
        np.add.at(whole.reshape(-1), self.places, grad)
        return whole

    def cut(self, grad: RecordingArray) -> Any:
        return grad.reshape(-1)[self.places]

    def blank(self, grad: RecordingArray) -> Any:
        whole = grad.copy()
        whole.reshape(-1)[self.places.reshape(-1)] = 0
        return whole
