"""Tensors from literals, from memory of others, filled with one value, or shaped like another tensor."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from minitorch_dist.tensors import devices, dtypes
from minitorch_dist.tensors.core import base
from minitorch_dist.tensors.core.base import Array, TensorBase
from minitorch_dist.tensors.names import named
from minitorch_dist.tensors.ops.making import literals
from minitorch_dist.tensors.ops.making.literals import as_dtype
from minitorch_dist.tensors.ops.making.new_arrays import Device, Dtype, copied, filled, kind_of, like, made, maker
from minitorch_dist.tensors.promotion import cast, converted, one_number
from minitorch_dist.tensors.shape_arrays import mode
from minitorch_dist.tensors.tensor import Tensor

# ----------------------------------------------------------------- from literals and from memory


def tensor(data: Any, *, dtype: Dtype = None, device: Device = None, requires_grad: bool = False) -> Tensor:
    """A new leaf with a copy of `data`.

    Args:
        data: Numbers, nested lists, or numpy arrays.
        dtype: The type of its elements; None takes that of the data.
        device: The simulated device that holds the result, the CPU by default.
        requires_grad: Whether autograd records operations on it.

    Returns:
        The tensor.

    Example:
        >>> torch.tensor([[1, 2], [3, 4]]).shape
        torch.Size([2, 2])
    """
    return copied(data, dtype, device, requires_grad)


def as_tensor(data: Any, dtype: Dtype = None, device: Device = None) -> Tensor:
    """`data` as a tensor, without a copy where memory and history can be shared."""
    if isinstance(data, TensorBase):
        found: Any = data if dtype is None else cast(data, as_dtype(dtype))
        if device is None or devices.resolve(device) is data.storage.device:
            return found
        return found.to(device)
    if isinstance(data, np.ndarray):
        wanted = dtypes.from_numpy(data.dtype) if dtype is None else as_dtype(dtype)
        array = literals.check_array(np.asarray(data))
        return made(array if array.dtype == wanted.numpy else converted(array, wanted), device)
    return tensor(data, dtype=dtype, device=device)


def frombuffer(
    buffer: Any, *, dtype: dtypes.dtype, count: int = -1, offset: int = 0, requires_grad: bool = False
) -> Any:
    """A 1-dim tensor on the memory of an object with Python's buffer protocol."""
    try:
        array = np.frombuffer(buffer, dtype.numpy, count, offset)
    except TypeError:
        raise ValueError("object does not implement Python buffer protocol.") from None
    if not array.size:
        raise ValueError(f"frombuffer() gives {count} elements after {offset} bytes, which are none")
    out = from_numpy(array)
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


# ------------------------------------------------------------------------------------------ filled


MAKING = """{words}

Args:
    *args: The shape, as numbers or as one sequence.
    size: The shape, by name.
    dtype: The type of its elements.
    device: The simulated device that holds it, the CPU by default.
    requires_grad: Whether autograd records operations on it.

Returns:
    The tensor.

Example:
    >>> torch.{name}(2, 3).shape
    torch.Size([2, 3])
"""


def _maker(make: Any, name: str, words: str) -> Callable[..., Tensor]:
    return named(maker(make, name), name, MAKING.format(words=words, name=name))


zeros = _maker(np.zeros, "zeros", "All zeros.")
ones = _maker(np.ones, "ones", "All ones.")
empty = _maker(np.empty, "empty", "A tensor with the values that the memory held before.")


def full(
    size: Sequence[int], fill_value: Any, *, dtype: Dtype = None, device: Device = None, requires_grad: bool = False
) -> Tensor:
    """All `fill_value`; its type decides the dtype, if none is given.

    Args:
        size: The shape.
        fill_value: The number.
        dtype: The type of its elements.
        device: The simulated device that holds the result, the CPU by default.
        requires_grad: Whether autograd records operations on it.

    Returns:
        The tensor.

    Example:
        >>> torch.full((2,), 7).tolist()
        [7, 7]
    """
    return made(filled(size, fill_value, dtype, device), device, requires_grad)


# ----------------------------------------------------------------------------- like another tensor


def _like(name: str, input: Any, dtype: Dtype, device: Device, memory_format: Any) -> tuple[Array, Device]:
    """An empty array of the same shape, and of the same order of axes in memory."""
    if not isinstance(input, TensorBase):
        raise TypeError(f"{name}(): argument 'input' (position 1) must be Tensor, not {kind_of(input)}")
    kind = input.array.dtype if dtype is None else as_dtype(dtype).numpy
    order: Any = "C" if "contiguous" in str(memory_format) else "K"
    place = input.storage.device if device is None else device
    if device is None or like(device) is like(input.storage.device):
        return np.empty_like(input.array, kind, order=order), place
    return mode.empty_on(devices.resolve(device), input.array, kind, order), place


def _maker_like(value: int | None, name: str, words: str) -> Callable[..., Tensor]:
    """A function that makes tensors of the shape of another one."""

    def maker(
        input: TensorBase,
        *,
        dtype: Dtype = None,
        device: Device = None,
        requires_grad: bool = False,
        memory_format: Any = None,
    ) -> Any:
        array, place = _like(name, input, dtype, device, memory_format)
        if value is not None:
            array.fill(value)
        return _lying_as(input, made(array, place, requires_grad))

    return named(maker, name, MAKING.format(words=words, name=name))


def _lying_as(input: TensorBase, out: Any) -> Any:
    """A part of a tensor that lies on several ranks has parts beside it."""
    return out if not input.is_part else input.lying_alike(out)  # type: ignore[attr-defined]


zeros_like = _maker_like(0, "zeros_like", "Zeros of the shape, dtype and device of `input`.")
ones_like = _maker_like(1, "ones_like", "Ones of the shape, dtype and device of `input`.")
empty_like = _maker_like(None, "empty_like", "Uninitialised memory of the shape, dtype and device of `input`.")


def full_like(
    input: TensorBase,
    fill_value: Any,
    *,
    dtype: Dtype = None,
    device: Device = None,
    requires_grad: bool = False,
    memory_format: Any = None,
) -> Tensor:
    """`fill_value` in the shape, dtype and device of `input`."""
    one_number("full_like", "fill_value", fill_value, "Number")
    array, device = _like("full_like", input, dtype, device, memory_format)
    array[...] = literals.parse(fill_value, dtypes.from_numpy(array.dtype))
    return _lying_as(input, made(array, device, requires_grad))
