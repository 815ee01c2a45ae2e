"""From a list of samples to a batch: tensors are stacked, containers are followed inwards.

[(tensor, 3), (tensor, 5)]      →  [stacked tensors, tensor([3, 5])]
[{"x": 1.0}, {"x": 2.0}]        →  {"x": tensor([1., 2.], dtype=float64)}
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeAlias

import numpy as np

from minitorch_dist.tensors.ops.making.creation import as_tensor, tensor
from minitorch_dist.tensors.ops.shapes.joining import stack
from minitorch_dist.tensors.tensor import Tensor

Rules: TypeAlias = "dict[type | tuple[type, ...], Callable[..., Any]]"

_REFUSED = (
    "default_collate: batch must contain tensors, numpy arrays, numbers, dicts or lists; found {}"
)


def collate(batch: Sequence[Any], *, collate_fn_map: Rules | None = None) -> Any:
    """One batch of samples that are built alike. `collate_fn_map` says how to join which type."""
    rules = collate_fn_map or {}
    first = batch[0]
    kind = type(first)
    rule = rules.get(kind)
    if rule is None:
        rule = next((r for types, r in rules.items() if isinstance(first, types)), None)
    if rule is not None:
        return rule(batch, collate_fn_map=collate_fn_map)

    def inner(samples: Sequence[Any]) -> Any:
        return collate(samples, collate_fn_map=collate_fn_map)

    if isinstance(first, Mapping):
        return _like(first, {key: inner([sample[key] for sample in batch]) for key in first})
    if not isinstance(first, Sequence):
        raise TypeError(_REFUSED.format(kind))
    if any(len(sample) != len(first) for sample in batch):
        raise RuntimeError("each element in list of batch should be of equal size")
    columns = [inner(samples) for samples in zip(*batch, strict=True)]
    return _like(first, columns)


def _like(like: Any, content: Any) -> Any:
    """`content` in the type of `like`, where that can be made of it; plain tuples become lists, as in torch."""
    kind = type(like)
    if hasattr(like, "_fields"):
        return kind(*content)
    try:
        return content if kind is tuple else kind(content)
    except TypeError:
        return content


def _arrays(batch: Sequence[Any], *, collate_fn_map: Rules | None = None) -> Any:
    if batch[0].dtype.kind in "SUO":
        raise TypeError(_REFUSED.format(batch[0].dtype))
    return collate([as_tensor(array) for array in batch], collate_fn_map=collate_fn_map)


default_collate_fn_map: Rules = {
    Tensor: lambda batch, **_: stack(list(batch), 0),
    np.ndarray: _arrays,
    (np.bool_, np.number, np.object_): lambda batch, **_: as_tensor(np.asarray(batch)),
    float: lambda batch, **_: as_tensor(np.asarray(batch, np.float64)),
    int: lambda batch, **_: tensor(list(batch)),
    str: lambda batch, **_: batch,
    bytes: lambda batch, **_: batch,
}


def default_collate(batch: Sequence[Any]) -> Any:
    """Make a batch of its samples, unless the loader is told otherwise."""
    return collate(batch, collate_fn_map=default_collate_fn_map)


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
