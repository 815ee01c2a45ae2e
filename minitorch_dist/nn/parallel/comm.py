"""Between the simulated devices of one process: copies, sums, parts. Nothing here is recorded."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from minitorch_dist.tensors import devices
from minitorch_dist.tensors.ops.shapes import joining

Device = int | str | devices.device


def broadcast(
    tensor: Any, devices: Sequence[Device] | None = None, *, out: Sequence[Any] | None = None
) -> tuple[Any, ...]:
    """A copy of the tensor on each device (itself where it is already), or in each of `out`."""
    _one_of("devices", devices, "out", out)
    if out is not None:
        return tuple(each.copy_(tensor) for each in out)
    return tuple(tensor.to(device=device) for device in devices or ())


def broadcast_coalesced(
    tensors: Sequence[Any], devices: Sequence[Device], buffer_size: int = 10485760
) -> list[tuple[Any, ...]]:
    """The same for several tensors: a row for each device."""
    return [tuple(tensor.to(device=device) for tensor in tensors) for device in devices]


def reduce_add(inputs: Sequence[Any], destination: Device | None = None) -> Any:
    """The sum of tensors of one shape, on one device (the first tensor's)."""
    shapes = {tuple(tensor.shape) for tensor in inputs}
    if len(shapes) > 1:
        raise ValueError(f"reduce_add takes tensors of one shape, but got {sorted(shapes)}")
    target = inputs[0].device if destination is None else destination
    total = inputs[0].detach().to(device=target)
    if total.storage is inputs[0].storage:
        total = total.clone()
    for tensor in inputs[1:]:
        total.add_(tensor.detach().to(device=target))
    return total


def reduce_add_coalesced(
    inputs: Sequence[Sequence[Any]],
    destination: Device | None = None,
    buffer_size: int = 10485760,
) -> tuple[Any, ...]:
    """Sums over the rows, one for each column. A None counts for nothing."""
    found = []
    for column in zip(*inputs, strict=True):
        there = [tensor for tensor in column if tensor is not None]
        found.append(reduce_add(there, destination) if there else None)
    return tuple(found)


def scatter(
    tensor: Any,
    devices: Sequence[Device] | None = None,
    chunk_sizes: Sequence[int] | None = None,
    dim: int = 0,
    streams: Any = None,
    *,
    out: Sequence[Any] | None = None,
) -> tuple[Any, ...]:
    """Parts of the tensor, about equal or of the given sizes, one to each device. A small one has
    fewer parts than there are devices. Or parts as large as those of `out`, written there."""
    if out is not None:
        sizes = [each.shape[dim] for each in out]
        parts = tensor.split(sizes, dim)
        return tuple(each.copy_(part) for each, part in zip(out, parts, strict=True))
    targets = list(devices or ())
    if chunk_sizes is None:
        parts = tensor.chunk(len(targets), dim)
    else:
        parts = tensor.split(list(chunk_sizes), dim)
    return tuple(
        part.to(device=device) if part.device != _device(device) else part.clone()
        for part, device in zip(parts, targets, strict=False)
    )


def _device(name: Device) -> devices.device:
    return devices.resolve(name)


def gather(
    tensors: Sequence[Any],
    dim: int = 0,
    destination: Device | None = None,
    *,
    out: Any = None,
) -> Any:
    """The tensors one after the other, on one device (the current one), or in `out`."""
    if out is not None:
        if destination is not None:
            raise RuntimeError(
                f"'destination' must not be specified when 'out' is specified, but got {destination=}"
            )
        return out.copy_(joining.cat([tensor.to(device=out.device) for tensor in tensors], dim))
    target = devices.resolve("cuda" if destination is None else destination)
    return joining.cat([tensor.to(device=target) for tensor in tensors], dim)


def _one_of(first: str, one: Any, second: str, other: Any) -> None:
    if (one is None) == (other is None):
        raise RuntimeError(
            f"Exactly one of '{first}' and '{second}' must be specified, but got "
            f"{first}={one} and {second}={other}"
        )
