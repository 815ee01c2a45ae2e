"""Memory shared with numpy, and with whoever speaks DLPack or the buffer protocol."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np

from minitorch_dist.tensors import base, devices, dtypes
from minitorch_dist.tensors.base import Array, TensorBase


def numpy(self: TensorBase, *, force: bool = False) -> Array:
    """The tensor's memory as a numpy array. With `force`, a copy where sharing is not possible."""
    x = self.array
    if not force:
        if self._requires_grad:
            raise RuntimeError(
                "Can't call numpy() on Tensor that requires grad. Use tensor.detach().numpy() "
                "instead."
            )
        if self.storage.device is not devices.CPU:
            raise TypeError(
                f"can't convert {self.storage.device} device type tensor to numpy. Use "
                "Tensor.cpu() to copy the tensor to host memory first."
            )
    if x.dtype == dtypes.bfloat16.numpy:
        raise TypeError("Got unsupported ScalarType BFloat16 (numpy has none: use float() first)")
    return x.copy() if self.storage.device is not devices.CPU else x.view()


def as_array(self: TensorBase, dtype: Any = None, copy: bool | None = None) -> Array:
    """numpy's protocol: `np.asarray(x)` shares memory if it can, `np.array(x)` copies."""
    x = numpy(self)
    if dtype is not None and np.dtype(dtype) != x.dtype:
        if copy is False:
            raise ValueError(f"a copy is needed to convert {x.dtype} to {np.dtype(dtype)}")
        return x.astype(dtype)
    return x.copy() if copy else x


def from_numpy(ndarray: Array) -> Any:
    """A tensor that shares the array's memory."""
    x: Any = ndarray
    if not isinstance(x, np.ndarray):
        raise TypeError(f"expected np.ndarray (got {type(x).__name__})")
    if not x.dtype.isnative:
        raise ValueError(
            "given numpy array has byte order different from the native byte order. Conversion "
            "between byte orders is currently not supported."
        )
    dtypes.from_numpy(x.dtype)  # raises where no tensor can hold it
    if any(s < 0 for s in x.strides):
        raise ValueError(
            "At least one stride in the given numpy array is negative, and tensors with negative "
            "strides are not currently supported. (You can probably work around this by making a "
            "copy of your array with array.copy().)"
        )
    if any(s % x.itemsize for s in x.strides):
        raise ValueError(
            "given numpy array strides not a multiple of the element byte size. Copy the numpy "
            "array to reallocate the memory."
        )
    if not x.flags.writeable:
        warnings.warn(
            "The given NumPy array is not writable, and PyTorch does not support non-writable "
            "tensors. Here, writing to the tensor is an error; copy the array if you want to.",
            UserWarning,
            stacklevel=2,
        )
    return base.new(TensorBase.plain, x.view(np.ndarray))
