"""Tensors from nothing: from literals, filled with one value, or shaped like another tensor."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from minitorch_dist.tensors import devices, dtypes
from minitorch_dist.tensors.core import base
from minitorch_dist.tensors.core.base import Array, TensorBase
from minitorch_dist.tensors.names import named
from minitorch_dist.tensors.ops.making import literals
from minitorch_dist.tensors.ops.making.literals import as_dtype
from minitorch_dist.tensors.ops.shapes import reshaping
from minitorch_dist.tensors.promotion import cast, converted, one_number
from minitorch_dist.tensors.shape_arrays import mode

if TYPE_CHECKING:
    from minitorch_dist.tensors.tensor import Tensor

Dtype: TypeAlias = "dtypes.dtype | type[float] | type[int] | type[bool] | None"
Device: TypeAlias = "devices.device | str | int | None"


def made(array: Array, device: Device = None, requires_grad: bool = False) -> Any:
    """A new tensor that owns `array`. (`Any`, because the class stands one layer up.)"""
    place = devices.resolve(device)
    out = base.new(TensorBase.plain, mode.settled(array, place), place)
    if requires_grad:
        out.requires_grad = True
    return out


def like(device: Device) -> Array | None:
    """For numpy's argument of this name: what an array of a new tensor on `device` is like."""
    return mode.template(devices.resolve(device))


def numpy_dtype(dtype: Dtype) -> np.dtype[Any]:
    return (dtypes.get_default_dtype() if dtype is None else as_dtype(dtype)).numpy


def sizes(name: str, given: tuple[Any, ...], size: Any = None) -> tuple[int, ...]:
    """A shape, given as ints or as one sequence of ints."""
    if any(type(n) is bool for n in given):
        raise TypeError(f"{name}(): argument 'size' must be ints or one sequence of ints, not bool")
    shape = reshaping.sizes(given, name, size)
    if min(shape, default=0) < 0:
        raise RuntimeError(f"{name}: Dimension size must be non-negative, got {list(shape)}.")
    return shape


# ----------------------------------------------------------------------------------- from literals


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
    if isinstance(data, TensorBase):
        words = "To copy construct from a tensor, take source.detach().clone() rather than tensor(source)."
        warnings.warn(words, UserWarning, stacklevel=2)
        if device is None:
            device = data.storage.device
        data = base.new(data.plain, data.array)  # a part of a tensor is refused
    return made(literals.parse(data, None if dtype is None else as_dtype(dtype)), device, requires_grad)


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
    """A function that makes tensors of a given size."""

    def maker(
        *args: Any, size: Any = None, dtype: Dtype = None, device: Device = None, requires_grad: bool = False
    ) -> Any:
        shape = sizes(name, args, size)
        return made(make(shape, numpy_dtype(dtype), like=like(device)), device, requires_grad)

    return named(maker, name, MAKING.format(words=words, name=name))


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
    return made(_filled(size, fill_value, dtype, device), device, requires_grad)


def _filled(size: Any, value: Any, dtype: Dtype, device: Device) -> Array:
    if not isinstance(size, Sequence):
        raise TypeError(f"full(): argument 'size' must be tuple of ints, not {kind_of(size)}")
    if isinstance(value, TensorBase):
        value = value.array
    number = literals.parse(value, None if dtype is None else as_dtype(dtype))
    if number.size != 1:
        raise TypeError(f"full(): argument 'fill_value' must be a number, not {kind_of(value)}")
    return np.full(sizes("full", (size,)), number.reshape(()), number.dtype, like=like(device))


def kind_of(value: Any) -> str:
    return type(value).__name__


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
