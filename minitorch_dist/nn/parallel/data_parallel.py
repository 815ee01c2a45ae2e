"""`DataParallel`: one process, several simulated devices, a part of the batch on each.

x ──scatter──► x₀ x₁ x₂        parts of the batch
module ─replica──► m₀ m₁ m₂    copies of the weights, anew for every forward
mᵢ(xᵢ)                         one after the other: simulated devices share the cores anyway
──gather──► y                  on the first device

A tensor's way to another device is recorded. So the backward pass brings gradients of all parts back, and adds up
those of each weight at the original.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Any

from minitorch_dist.cuda import current
from minitorch_dist.nn.modules.module import Module
from minitorch_dist.tensors import devices
from minitorch_dist.tensors.core.base import TensorBase
from minitorch_dist.tensors.ops.shapes import joining

Device = int | str | devices.device


class DataParallel(Module):
    """Applies `module` to parts of the batch on `device_ids` (default: all simulated devices).

    The module must be on the first of them. Without simulated devices it is simply called.
    """

    def __init__(
        self,
        module: Module,
        device_ids: Sequence[Device] | None = None,
        output_device: Device | None = None,
        dim: int = 0,
    ) -> None:
        super().__init__()
        self.module, self.dim = module, dim
        given = range(devices.count()) if device_ids is None or not devices.count() else device_ids
        self.device_ids = [current.index_of(device) for device in given]
        if self.device_ids:
            self.output_device = self.device_ids[0] if output_device is None else output_device
            self.src_device_obj = devices.device("cuda", self.device_ids[0])
            if len(self.device_ids) == 1:
                module.to(self.src_device_obj)

    def forward(self, *inputs: Any, **kwargs: Any) -> Any:
        if not self.device_ids:
            return self.module(*inputs, **kwargs)
        for tensor in (*self.module.parameters(), *self.module.buffers()):
            if tensor.device is not self.src_device_obj:
                raise RuntimeError(
                    f"module must have its parameters and buffers on device {self.src_device_obj} (device_ids[0]) "
                    f"but found one of them on device: {tensor.device}"
                )
        outputs = []
        for number, (args, named) in enumerate(scatter((inputs, kwargs), self.device_ids, self.dim)):
            place = self.device_ids[number]
            with current.device(place):
                module = replica(self.module, place, {}) if len(self.device_ids) > 1 else self.module
                outputs.append(module(*args, **named))
        return gather(outputs, self.output_device, self.dim) if len(self.device_ids) > 1 else outputs[0]


def scatter(value: Any, targets: Sequence[Device], dim: int) -> list[Any]:
    """For each device a structure like `value`, with its part of every tensor. A small one has fewer parts."""
    if isinstance(value, TensorBase):
        parts: Any = value.chunk(len(targets), dim)  # type: ignore[attr-defined]
        return [part.to(device=devices.resolve(device)) for part, device in zip(parts, targets, strict=False)]
    if isinstance(value, list | tuple | dict) and value:
        items = value.items() if isinstance(value, dict) else value
        rows = zip(*[scatter(item, targets, dim) for item in items], strict=False)
        return [_like(value, list(row)) for row in rows]
    return [value for _ in targets]


def gather(outputs: Sequence[Any], target: Device, dim: int) -> Any:
    """One structure like each of `outputs`, whose tensors are theirs one after the other."""
    first = outputs[0]
    if isinstance(first, TensorBase):
        if not first.array.ndim:
            warnings.warn("DataParallel gathers scalars as a vector: one element of each device.", stacklevel=4)
            outputs = [tensor.reshape(1) for tensor in outputs]
        return joining.cat([tensor.to(device=devices.resolve(target)) for tensor in outputs], dim)
    if isinstance(first, dict):
        return type(first)((key, gather([out[key] for out in outputs], target, dim)) for key in first)
    if isinstance(first, list | tuple):
        return _like(first, [gather(row, target, dim) for row in zip(*outputs, strict=True)])
    return first


def _like(value: Any, items: list[Any]) -> Any:
    """`items` in a container like `value`."""
    return type(value)(*items) if hasattr(value, "_fields") else type(value)(items)


def replica(module: Module, place: Device, made: dict[Module, Module]) -> Module:
    """The module on another device: its weights are computed from the original's, and are no parameters.

    A buffer that is there already is shared, so what a forward on the first device writes into it is kept.
    """
    if module not in made:
        twin = made[module] = type(module).__new__(type(module))
        twin.__dict__.update(module.__dict__)
        device = devices.resolve(place)
        weights = {name: None if p is None else p.to(device=device) for name, p in module._parameters.items()}
        twin.__dict__.update(weights, _parameters={})
        twin._buffers = {
            name: None if b is None else b.detach().to(device=device) for name, b in module._buffers.items()
        }
        twin._modules = {
            name: None if child is None else replica(child, place, made) for name, child in module._modules.items()
        }
    return made[module]
