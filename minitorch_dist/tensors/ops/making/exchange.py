"""Memory shared with numpy, and with other libraries that use DLPack or the buffer protocol."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, Any

import numpy as np

from minitorch_dist.tensors import devices, dtypes
from minitorch_dist.tensors.core import base
from minitorch_dist.tensors.core.base import Array, TensorBase
from minitorch_dist.tensors.ops.elementwise.copying import no_data
from minitorch_dist.tensors.ops.making import literals
from minitorch_dist.tensors.shape_arrays import mode
from minitorch_dist.tensors.shape_arrays.array import NumbersNeeded, has_numbers

if TYPE_CHECKING:
    from minitorch_dist.tensors.tensor import Tensor


def numpy(input: TensorBase, *, force: bool = False) -> Array:
    """The tensor's memory as a numpy array.

    Args:
        input: The tensor itself.
        force: Give a copy where sharing is not possible.

    Returns:
        The array.

    Raises:
        RuntimeError: It requires grad.

    Example:
        >>> torch.ones(2).numpy().sum().item()
        2.0
    """
    x = input.array
    if force and input.storage.device is devices.META:
        raise no_data()
    if not force:
        if input.requires_grad:
            raise RuntimeError("Can't call numpy() on Tensor that requires grad. Use tensor.detach().numpy() instead.")
        if input.storage.device is not devices.CPU:
            where = f"can't convert {input.storage.device} device type tensor to numpy"
            raise TypeError(f"{where}. Use Tensor.cpu() to copy the tensor to host memory first.")
    if not has_numbers(x):
        raise NumbersNeeded("numpy()")
    if x.dtype == dtypes.bfloat16.numpy:
        raise TypeError("Got unsupported ScalarType BFloat16 (numpy has none: use float() first)")
    return x.copy() if input.storage.device is not devices.CPU else x.view()


def as_array(input: TensorBase, dtype: Any = None, copy: bool | None = None) -> Array:
    """numpy's protocol: `np.asarray(x)` shares memory if it can, `np.array(x)` copies."""
    x = numpy(input)
    if dtype is not None and np.dtype(dtype) != x.dtype:
        if copy is False:
            raise ValueError(f"a copy is needed to convert {x.dtype} to {np.dtype(dtype)}")
        return x.astype(dtype)
    return x.copy() if copy else x


def array_wrap(input: TensorBase, array: Any, context: Any = None, return_scalar: bool = False) -> Any:
    """The result of `np.sin(x)` for a tensor x: a tensor."""
    array = np.asarray(array)
    return from_numpy(array.astype(np.uint8) if array.dtype.kind == "b" else array)


def frombuffer(
    buffer: Any, *, dtype: dtypes.dtype, count: int = -1, offset: int = 0, requires_grad: bool = False
) -> Any:
    """A 1-dim tensor on the memory of an object with Python's buffer protocol."""
    try:
        length, width = memoryview(buffer).nbytes, dtype.itemsize
    except TypeError:
        raise ValueError("object does not implement Python buffer protocol.") from None
    rest = length - offset
    fits = 0 <= offset < length and (rest % width == 0 if count < 0 else count * width <= rest)
    if not count or not fits:
        raise ValueError(f"{count} elements of {width} bytes from byte {offset} on do not fit into {length} bytes")
    array = np.frombuffer(buffer, np.uint8, -1 if count < 0 else count * width, offset)
    out = from_numpy(array.view(dtype.numpy))
    if requires_grad:
        out.requires_grad = True
    return out


def from_numpy(ndarray: Array) -> Tensor:
    """A tensor that shares the array's memory."""
    x: Any = ndarray
    if not isinstance(x, np.ndarray):
        raise TypeError(f"expected np.ndarray (got {type(x).__name__})")
    if not x.dtype.isnative:
        raise ValueError(
            "the array's byte order is not that of this machine: take array.astype(array.dtype.newbyteorder('='))"
        )
    literals.check_array(x)
    if any(s % x.itemsize for s in x.strides):
        raise ValueError("the array's strides are no multiples of its elements' size: copy it")
    if not x.flags.writeable:
        words = "The given NumPy array is not writable, so writing to the tensor is an error; copy the array if you want to."
        warnings.warn(words, UserWarning, stacklevel=2)
    return base.new(TensorBase.plain, mode.settled(x.view(np.ndarray), devices.CPU))
