"""`torch.accelerator`: the same devices as `cuda`, without naming their kind."""

from __future__ import annotations

from typing import Any

from minitorch_dist.cuda import current, memory
from minitorch_dist.inventory import not_offered
from minitorch_dist.tensors import devices, pools
from minitorch_dist.tensors.devices import NO_ACCELERATOR, device as Device

not_offered.guard(globals())

Which = Device | str | int | None


def is_available() -> bool:
    return devices.count() > 0


def device_count() -> int:
    return devices.count()


def current_accelerator(check_available: bool = False) -> Device | None:
    """The kind of accelerator that is there: `device("cuda")`, or None."""
    return Device("cuda") if is_available() else None


def _index(device: Which) -> int:
    if not is_available():
        raise RuntimeError(NO_ACCELERATOR)
    if not isinstance(device, int) and device is not None:
        device = Device(device)
        if device.type != "cuda":
            raise ValueError(f"{device.type} doesn't match the current accelerator cuda.")
    return current.index_of(device)


def current_device_index() -> int:
    return _index(None)


def set_device_index(device: Which, /) -> None:
    pools.set_current(_index(device))


class device_index(current.device):
    """Makes a device the current one inside a block; None changes nothing."""


def synchronize(device: Which = None, /) -> None:
    """Returns at once: every operation is finished when its call returns."""
    _index(device)


def empty_cache() -> None:
    _index(None)


def memory_allocated(device_index: Which = None, /) -> int:
    return memory.memory_allocated(_index(device_index))


def max_memory_allocated(device_index: Which = None, /) -> int:
    return memory.max_memory_allocated(_index(device_index))


def memory_stats(device_index: Which = None, /) -> dict[str, Any]:
    return memory.memory_stats(_index(device_index))


def reset_peak_memory_stats(device_index: Which = None, /) -> None:
    memory.reset_peak_memory_stats(_index(device_index))
