"""`DataParallel`: one process, several simulated devices, a part of the batch on each.

x ──scatter──► x₀ x₁ x₂        parts of the batch
module ─replicate─► m₀ m₁ m₂   copies, anew for every forward
mᵢ(xᵢ)                         in threads
──gather──► y                  on the first device; backward adds the gradients up there
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from minitorch_dist.nn.modules.module import Module
from minitorch_dist.nn.parallel.parallel_apply import parallel_apply
from minitorch_dist.nn.parallel.replicate import replicate
from minitorch_dist.nn.parallel.scatter_gather import gather, scatter_kwargs
from minitorch_dist.tensors import devices

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
        self.device_ids: list[int] = []
        if devices.count() == 0:
            return
        given = range(devices.count()) if device_ids is None else device_ids
        self.device_ids = [_index(device) for device in given]
        if not self.device_ids:
            raise RuntimeError("no available devices were found")
        self.output_device = self.device_ids[0] if output_device is None else _index(output_device)
        self.src_device_obj = devices.device("cuda", self.device_ids[0])
        if len(self.device_ids) == 1:
            module.to(self.src_device_obj)

    def forward(self, *inputs: Any, **kwargs: Any) -> Any:
        if not self.device_ids:
            return self.module(*inputs, **kwargs)
        for tensor in (*self.module.parameters(), *self.module.buffers()):
            if tensor.storage.device is not self.src_device_obj:
                raise RuntimeError(
                    "module must have its parameters and buffers on device "
                    f"{self.src_device_obj} (device_ids[0]) but found one of them on device: "
                    f"{tensor.device}"
                )
        args, named = self.scatter(inputs, kwargs, self.device_ids)
        if not args and not named:
            args, named = ((),), ({},)
        if len(self.device_ids) == 1:
            return self.module(*args[0], **named[0])
        replicas = self.replicate(self.module, self.device_ids[: len(args)])
        outputs = self.parallel_apply(replicas, args, named)
        return self.gather(outputs, self.output_device)

    def replicate(self, module: Module, device_ids: Sequence[Device]) -> list[Any]:
        return replicate(module, device_ids)

    def scatter(self, inputs: Any, kwargs: Any, device_ids: Sequence[Device]) -> Any:
        return scatter_kwargs(inputs, kwargs, device_ids, dim=self.dim)

    def parallel_apply(self, replicas: Sequence[Any], inputs: Any, kwargs: Any) -> list[Any]:
        return parallel_apply(replicas, inputs, kwargs, self.device_ids[: len(replicas)])

    def gather(self, outputs: Any, output_device: Device) -> Any:
        return gather(outputs, output_device, dim=self.dim)


def data_parallel(
    module: Module,
    inputs: Any,
    device_ids: Sequence[Device] | None = None,
    output_device: Device | None = None,
    dim: int = 0,
    module_kwargs: dict[str, Any] | None = None,
) -> Any:
    """`module(*inputs)` over several devices, as a function."""
    args = inputs if isinstance(inputs, tuple) else () if inputs is None else (inputs,)
    return DataParallel(module, device_ids, output_device, dim)(*args, **(module_kwargs or {}))


def _index(device: Device) -> int:
    index = devices.resolve(device).index
    if index is None:
        raise ValueError(f"DataParallel runs on simulated devices, not on '{device}'")
    return index
