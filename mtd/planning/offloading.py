"""Training that keeps a part of its memory on the host: what is kept there, and how it comes and goes.

    offload = optimizer     AdamW's two numbers of each parameter. Gradients go to the host before the step, and new parameters
                            come back after it, as with ZeRO-Offload (arXiv:2101.06840)
    offload = parameters    parameters, gradients and optimizer, as with FSDP's CPUOffloadPolicy: a shard comes before
                            each gather, and a gradient goes as soon as it is reduced, both beside what is computed

The processors of the host update the parameters, and the GPU waits for them.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final

import minitorch_dist as torch
from minitorch_dist import nn
from minitorch_dist.sim import device as devices_by_name
from minitorch_dist.sim.device import Device
from minitorch_dist.tensors import devices
from minitorch_dist.tensors.core import base, observers
from minitorch_dist.tensors.tensor import Tensor

OFFLOADS: Final = ("none", "optimizer", "parameters")


def check(offload: str, device: Device) -> None:
    """ValueError if nothing is known of the host of this device."""
    if offload != "none" and None in (device.host, device.host_memory):
        known = ", ".join(name for name in devices_by_name.known() if devices_by_name.gpu(name).host is not None)
        raise ValueError(
            f"--layout: offload: nobody has told the link of a {device.name} to its host; it is known of {known}"
        )


def adamw(parameters: Iterable[Any], offload: str) -> Any:
    """The optimizer, and where it is kept."""
    if offload == "optimizer":
        return HostAdamW(parameters)
    return torch.optim.AdamW(parameters, lr=1e-3)


class HostAdamW(torch.optim.AdamW):
    """AdamW whose numbers are in the host's memory. Its parameters there share the memory of those that the model has."""

    def __init__(self, parameters: Iterable[Any]) -> None:
        self.parameters = list(parameters)
        self.on_host = [nn.Parameter(_on_host(p.array), p.requires_grad) for p in self.parameters]
        super().__init__(self.on_host, lr=1e-3)

    def step(self) -> None:  # type: ignore[override]
        self._copy(sum(p.grad.array.nbytes for p in self.parameters if p.grad is not None), True)
        for own, p in zip(self.on_host, self.parameters, strict=True):
            own.grad = None if p.grad is None else _on_host(p.grad.array)
        super().step()
        for p in self.parameters:
            p.storage.version += 1  # it has other numbers now
        self._copy(sum(p.array.nbytes for p in self.parameters), False)

    def zero_grad(self) -> None:  # type: ignore[override]
        for p in (*self.parameters, *self.on_host):
            p.grad = None

    def _copy(self, nbytes: int, to_host: bool) -> None:
        if observers.copies.on:
            observers.copies.tell(self, nbytes, to_host)
            observers.copies.tell(self, None, to_host)


def _on_host(array: base.Array) -> Tensor:
    return base.new(Tensor, array, devices.CPU)
