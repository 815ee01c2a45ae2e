"""The tensors in what a module is given or returns: alone, or in lists, tuples, dicts and dataclasses."""

from __future__ import annotations

import copy
from collections.abc import Iterator
from dataclasses import fields, is_dataclass
from typing import Any

from minitorch_dist.tensors import devices, dtypes
from minitorch_dist.tensors.core.base import TensorBase


def tensors_in(value: Any) -> Iterator[TensorBase]:
    """All tensors, in order."""
    if isinstance(value, TensorBase):
        yield value
    elif isinstance(value, list | tuple):
        for item in value:
            yield from tensors_in(item)
    elif isinstance(value, dict):
        yield from tensors_in(list(value.values()))
    elif is_dataclass(value) and not isinstance(value, type):
        for field in fields(value):
            yield from tensors_in(getattr(value, field.name))


def moved(value: Any, device: devices.device, dtype: dtypes.dtype | None = None) -> Any:
    """The same with its tensors on `device`; floating ones are converted if a dtype is given."""
    if isinstance(value, TensorBase):
        tensor: Any = value if value.storage.device is device else value.to(device)  # type: ignore[attr-defined]
        if dtype is not None and tensor.is_floating_point() and tensor.dtype is not dtype:
            tensor = tensor.to(dtype=dtype)
        return tensor
    if isinstance(value, list | tuple):
        items = [moved(one, device, dtype) for one in value]
        return type(value)(*items) if hasattr(value, "_fields") else type(value)(items)
    if isinstance(value, dict):
        like = copy.copy(value)  # a dict of its own kind
        like.update((key, moved(one, device, dtype)) for key, one in value.items())
        return like
    return value
