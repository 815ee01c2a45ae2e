"""Shared by all makers of tensors: the array, its type and its place, and the tensor around it."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

import numpy as np

from minitorch_dist.tensors import devices, dtypes
from minitorch_dist.tensors.core import base
from minitorch_dist.tensors.core.base import Array, TensorBase
from minitorch_dist.tensors.ops.making import literals
from minitorch_dist.tensors.ops.making.literals import as_dtype
from minitorch_dist.tensors.ops.shapes import reshaping
from minitorch_dist.tensors.shape_arrays import mode

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


def maker(make: Any, name: str) -> Callable[..., Any]:
    """A function that makes tensors of a given size. `make`: numpy's function."""

    def of_size(
        *args: Any, size: Any = None, dtype: Dtype = None, device: Device = None, requires_grad: bool = False
    ) -> Any:
        shape = sizes(name, args, size)
        return made(make(shape, numpy_dtype(dtype), like=like(device)), device, requires_grad)

    return of_size


def filled(size: Any, value: Any, dtype: Dtype = None, device: Device = None) -> Array:
    """An array of one value, whose type decides the dtype if none is given."""
    if not isinstance(size, Sequence):
        raise TypeError(f"full(): argument 'size' must be tuple of ints, not {kind_of(size)}")
    if isinstance(value, TensorBase):
        value = value.array
    number = literals.parse(value, None if dtype is None else as_dtype(dtype))
    if number.size != 1:
        raise TypeError(f"full(): argument 'fill_value' must be a number, not {kind_of(value)}")
    return np.full(sizes("full", (size,)), number.reshape(()), number.dtype, like=like(device))


def copied(data: Any, dtype: Dtype = None, device: Device = None, requires_grad: bool = False) -> Any:
    """A new leaf with a copy of `data`."""
    if isinstance(data, TensorBase):
        words = "To copy construct from a tensor, take source.detach().clone() rather than tensor(source)."
        warnings.warn(words, UserWarning, stacklevel=3)
        if device is None:
            device = data.storage.device
        data = base.new(data.plain, data.array)  # a part of a tensor is refused
    return made(literals.parse(data, None if dtype is None else as_dtype(dtype)), device, requires_grad)


def kind_of(value: Any) -> str:
    return type(value).__name__
