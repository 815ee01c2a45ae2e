"""The arguments of DistributedDataParallel: torch's checks of them, and what is not offered."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from minitorch_dist.distributed import distributed_c10d
from minitorch_dist.distributed.groups import ProcessGroup
from minitorch_dist.tensors import devices
from minitorch_dist.tensors.core.base import TensorBase


def place_of(
    parameters: Sequence[TensorBase], device_ids: Any, output: Any
) -> tuple[devices.device, list[int] | None, int | None]:
    """Where the parameters are, checked against what was said about it; the device's index and that of the outputs,
    if inputs are to be moved there."""
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
        return first, None, None
    index = devices.resolve(device_ids[0]).index or 0
    return first, [index], index if output is None else devices.resolve(output).index


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
    at_start = new is not None or old is not False
    return at_start, at_start if new is None else new
