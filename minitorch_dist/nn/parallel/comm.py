"""Between the simulated devices of one process: copies, sums, parts. Nothing here is recorded."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from minitorch_dist import not_offered
from minitorch_dist.tensors import devices
from minitorch_dist.tensors.ops.shapes import joining

Device = int | str | devices.device


def broadcast_coalesced(tensors: Sequence[Any], devices: Sequence[Device]) -> list[tuple[Any, ...]]:
    """Copies of the tensors: a row for each device."""
    return [tuple(tensor.to(device=device) for tensor in tensors) for device in devices]


def reduce_add(inputs: Sequence[Any], destination: Device | None = None) -> Any:
    """The sum of tensors of one shape, on one device (the first tensor's)."""
    target = inputs[0].device if destination is None else destination
    total = inputs[0].detach().to(device=target)
    if total.storage is inputs[0].storage:
        total = total.clone()
    for tensor in inputs[1:]:
        total.add_(tensor.detach().to(device=target))
    return total


def reduce_add_coalesced(inputs: Sequence[Sequence[Any]], destination: Device) -> list[Any]:
    """Sums over the rows, one for each column. A None counts for nothing."""
    columns = [[t for t in column if t is not None] for column in zip(*inputs, strict=True)]
    return [reduce_add(column, destination) if column else None for column in columns]


def scatter(
    tensor: Any, targets: Sequence[Device], chunk_sizes: Sequence[int] | None = None, dim: int = 0
) -> tuple[Any, ...]:
    """Parts of the tensor, about equal or of the given sizes, one to each device. A small one has
    fewer parts than there are devices."""
    sizes = chunk_sizes
    parts = tensor.chunk(len(targets), dim) if sizes is None else tensor.split(list(sizes), dim)
    return tuple(
        part.to(device=device) if part.device != devices.resolve(device) else part.clone()
        for part, device in zip(parts, targets, strict=False)
    )


def gather(tensors: Sequence[Any], dim: int = 0, destination: Device | None = None) -> Any:
    """The tensors one after the other, on one device (the current one)."""
    target = devices.resolve("cuda" if destination is None else destination)
    return joining.cat([tensor.to(device=target) for tensor in tensors], dim)


not_offered.guard(globals())
