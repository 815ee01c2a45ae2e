"""Where new arrays have no numbers: on the device `meta`, and everywhere inside a `without_numbers` block."""

from __future__ import annotations

import functools
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

import numpy as np

from minitorch_dist.tensors.core.device_labels import META, device as Device
from minitorch_dist.tensors.shape_arrays import answers, functions as functions, selection
from minitorch_dist.tensors.shape_arrays.array import ShapeArray, has_numbers

Array = np.ndarray[Any, Any]

_active: ContextVar[bool] = ContextVar("without_numbers", default=False)
_pattern: ContextVar[Any] = ContextVar("pattern", default=None)
_handlers = answers, selection  # they enter themselves


@contextmanager
def without_numbers() -> Iterator[None]:
    """New tensors of this thread have no numbers, on whatever device they are."""
    token = _active.set(True)
    try:
        yield
    finally:
        _active.reset(token)


@contextmanager
def like(array: Array) -> Iterator[None]:
    """New floating tensors of this thread are made by numpy `like` this array, which is of a class of its own."""
    token = _pattern.set(array)
    try:
        yield
    finally:
        _pattern.reset(token)


def active() -> bool:
    return _active.get()


def template(device: Device) -> Any:
    """For numpy's argument `like`: an array without numbers if a new array on `device` has none, else None, or what
    `like` says."""
    return _template() if device is META or _active.get() else _pattern.get()


@functools.cache
def _template() -> ShapeArray:
    return ShapeArray((), np.float32)


def settled(array: Array, device: Device) -> Array:
    """`array` as a tensor on `device` keeps it: without its numbers where tensors have none."""
    if (device is META or _active.get()) and has_numbers(array):
        return answers.like(array)
    pattern = _pattern.get()
    return array if pattern is None or array.dtype.kind != "f" else np.array(array, like=pattern)


def empty_on(device: Device, like: Array, dtype: Any, order: Any = "K") -> Array:
    """A new array for a tensor on `device`, with the shape and the order in memory of `like`. Only one of the two has
    numbers."""
    made = answers.like(like, dtype=dtype, order=order)
    if device is META or _active.get():
        return made
    axes = sorted(range(made.ndim), key=lambda axis: -made.strides[axis])
    whole = np.empty([made.shape[axis] for axis in axes], made.dtype, like=_pattern.get())
    return whole.transpose(np.argsort(axes)) if axes else whole
