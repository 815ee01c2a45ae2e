"""From a list of samples to a batch: tensors are stacked, containers are followed inwards.

[(tensor, 3), (tensor, 5)]      →  [stacked tensors, tensor([3, 5])]
[{"x": 1.0}, {"x": 2.0}]        →  {"x": tensor([1., 2.], dtype=float64)}
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from minitorch_dist.tensors.makers.creation import as_tensor, tensor
from minitorch_dist.tensors.ops.shapes.joining import stack
from minitorch_dist.tensors.tensor import Tensor

_REFUSED = "default_collate: batch must contain tensors, numpy arrays, numbers, dicts or lists; found {}"


def default_collate(batch: Sequence[Any]) -> Any:
    """Make a batch of its samples, which are built alike, unless the loader is told otherwise."""
    first = batch[0]
    match first:
        case Tensor():
            return stack(list(batch), 0)
        case np.ndarray():
            if first.dtype.kind in "SUO":
                raise TypeError(_REFUSED.format(first.dtype))
            return stack([as_tensor(array) for array in batch], 0)
        case np.bool_() | np.number() | np.object_():
            return as_tensor(np.asarray(batch))
        case float():
            return as_tensor(np.asarray(batch, np.float64))
        case int():
            return tensor(list(batch))
        case str() | bytes():
            return batch
        case Mapping():
            columns = {key: default_collate([sample[key] for sample in batch]) for key in first}
            return _like(first, columns)
        case Sequence():
            if any(len(sample) != len(first) for sample in batch):
                raise RuntimeError("each element in list of batch should be of equal size")
            return _like(first, [default_collate(samples) for samples in zip(*batch, strict=True)])
    raise TypeError(_REFUSED.format(type(first)))


def _like(like: Any, content: Any) -> Any:
    """`content` in the type of `like`, where that can be made of it; plain tuples become lists, as in torch."""
    kind = type(like)
    if hasattr(like, "_fields"):
        return kind(*content)
    try:
        return content if kind is tuple else kind(content)
    except TypeError:
        return content


def default_convert(data: Any) -> Any:
    """Convert a single sample, if the loader does not batch: arrays become tensors."""
    if isinstance(data, Tensor):
        return data
    if isinstance(data, np.ndarray):
        return data if data.dtype.kind in "SUO" else as_tensor(data)
    if isinstance(data, (np.bool_, np.number)):
        return as_tensor(np.asarray(data))
    if isinstance(data, Mapping):
        return _like(data, {key: default_convert(value) for key, value in data.items()})
    if isinstance(data, Sequence) and not isinstance(data, (str, bytes)):
        return _like(data, [default_convert(value) for value in data])
    return data
