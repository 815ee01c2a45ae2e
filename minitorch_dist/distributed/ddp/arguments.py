"""The arguments of DistributedDataParallel: torch's checks of them, and what is not offered."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Any, NamedTuple

from minitorch_dist.distributed import distributed_c10d
from minitorch_dist.distributed.groups import ProcessGroup
from minitorch_dist.tensors import devices
from minitorch_dist.tensors.core.base import TensorBase


class ModuleDevices(NamedTuple):
    """Where a module is; its index and that of the outputs, if inputs are to be moved there."""

    device: devices.device
    ids: list[int] | None
    output: int | None


def place_of(parameters: Sequence[TensorBase], device_ids: Any, output: Any) -> ModuleDevices:
    """Where the parameters are, checked against what was said about it."""
    if device_ids is not None and len(device_ids) > 1:
        raise ValueError("device_ids can only be None or contain a single element.")
    used = {p.storage.device for p in parameters}
    types = {device.type for device in used}
    if len(types) != 1:
        raise ValueError(
            "DistributedDataParallel's input module must be on the same type of devices, but "
            f"input module parameters locate in {types}."
        )
    first, is_split = parameters[0].storage.device, len(used) > 1
    if not device_ids or first.type == "cpu" or is_split:
        if device_ids or output is not None:
            raise ValueError(
                "DistributedDataParallel device_ids and output_device arguments only work with "
                "single-device/multiple-device GPU modules or CPU modules, but got device_ids "
                f"{device_ids}, output_device {output}, and module parameters {used}."
            )
        return ModuleDevices(first, None, None)
    index = devices.resolve(device_ids[0]).index or 0
    to = index if output is None else devices.resolve(output).index
    return ModuleDevices(first, [index], to)


def group_of(given: ProcessGroup | None, mesh: Any) -> ProcessGroup:
    if mesh is None:
        return distributed_c10d._get_default_group() if given is None else given
    if given is not None:
        raise RuntimeError("Cannot specify both process_group and device_mesh arguments.")
    if mesh.ndim != 1:
        raise RuntimeError(f"Only 1D device mesh is supported, but got {mesh}.")
    found = mesh.get_group(mesh_dim=0)
    assert isinstance(found, ProcessGroup)
    return found


def which_buffers(old: bool | None, new: bool | None) -> tuple[bool, bool]:
    """Whether buffers are taken from rank 0 at construction, and before each forward."""
    if old is not None:
        warnings.warn(
            "`broadcast_buffers` is deprecated. Use `forward_sync_buffers` instead, which unlike it "
            "leaves the synchronisation at construction alone.",
            FutureWarning,
            stacklevel=3,
        )
    at_start = new is not None or old is not False
    return at_start, at_start if new is None else new


def refuse(**options: Any) -> None:
    """NotImplementedError for an option of torch's that is given and not offered."""
    for name, value in options.items():
        if value:
            raise NotImplementedError(f"{name} is not offered for DistributedDataParallel here; PyTorch has it")
