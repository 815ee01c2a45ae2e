"""Taking nested tuples, lists and dicts of tensors apart over several devices, and together again.

    scatter((x, {"mask": m}), [0, 1])  ──►  [(x₀, {"mask": m₀}), (x₁, {"mask": m₁})]

Tensors are cut along a dimension; anything else is handed to every device as it is.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from minitorch_dist.nn.parallel.over_devices import Gather, Scatter
from minitorch_dist.tensors import devices
from minitorch_dist.tensors.core.base import TensorBase

Device = int | str | devices.device


def scatter(inputs: Any, target_gpus: Sequence[Device], dim: int = 0) -> list[Any]:
    """One structure like `inputs` for each device, with its part of every tensor."""
    value, targets = inputs, list(target_gpus)
    if isinstance(value, TensorBase):
        return list(Scatter.apply(targets, None, dim, value))
    if isinstance(value, list | tuple | dict) and value:
        items = list(value.items()) if isinstance(value, dict) else list(value)
        parts = zip(*[scatter(item, targets, dim) for item in items], strict=False)
        return [_like(value, list(part)) for part in parts]
    return [value for _ in targets]


def scatter_kwargs(
    inputs: tuple[Any, ...], kwargs: dict[str, Any] | None, target_gpus: Sequence[Device], dim: int = 0
) -> tuple[tuple[Any, ...], tuple[dict[str, Any], ...]]:
    """Positional and keyword arguments for each device; as many of both."""
    args = scatter(inputs, target_gpus, dim) if inputs else []
    named = scatter(kwargs, target_gpus, dim) if kwargs else []
    args += [() for _ in range(len(named) - len(args))]
    named += [{} for _ in range(len(args) - len(named))]
    return tuple(args), tuple(named)


def gather(outputs: Sequence[Any], target_device: Device, dim: int = 0) -> Any:
    """One structure like each of `outputs`, whose tensors are theirs one after the other."""
    first = outputs[0]
    if isinstance(first, TensorBase):
        return Gather.apply(target_device, dim, *outputs)
    if first is None:
        return None
    if isinstance(first, dict):
        if any(len(first) != len(out) for out in outputs):
            raise ValueError("All dicts must have the same number of keys")
        return type(first)((key, gather([out[key] for out in outputs], target_device, dim)) for key in first)
    items = [gather(list(part), target_device, dim) for part in zip(*outputs, strict=True)]
    return _like(first, items)


def _like(value: Any, items: list[Any]) -> Any:
    """`items` in a container like `value`."""
    if hasattr(value, "_fields"):
        return type(value)(*items)
    return type(value)(items)
