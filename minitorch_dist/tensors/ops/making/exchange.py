"""Memory shared with numpy, and with other libraries that use DLPack or the buffer protocol."""

from __future__ import annotations

from typing import Any

import numpy as np

from minitorch_dist.tensors import devices, dtypes
from minitorch_dist.tensors.core import base
from minitorch_dist.tensors.core.base import Array, TensorBase
from minitorch_dist.tensors.ops.elementwise.copying import no_data
from minitorch_dist.tensors.ops.making import literals
from minitorch_dist.tensors.shape_arrays import mode
from minitorch_dist.tensors.shape_arrays.array import NumbersNeeded, has_numbers


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
    array = literals.check_array(array.astype(np.uint8) if array.dtype.kind == "b" else array)
    return base.new(TensorBase.plain, mode.settled(array, devices.CPU))
