"""Which simulated accelerators exist, which one is current, and what is known about each."""

from __future__ import annotations

from typing import NamedTuple

from minitorch_dist.tensors import devices, pools
from minitorch_dist.tensors.devices import NO_CUDA, device as Device


def is_available() -> bool:
    return devices.count() > 0


def is_initialized() -> bool:
    """Nothing has to be started: devices are there as soon as they are asked for."""
    return is_available()


def init() -> None:
    require()


def device_count() -> int:
    return devices.count()


def require() -> None:
    """Raise as a CPU-only PyTorch does, if there are no simulated devices."""
    if not is_available():
        raise AssertionError(NO_CUDA)


def index_of(device: Device | str | int | None = None) -> int:
    """The index that `device` means: the current one for None and for `cuda` without an index."""
    require()
    if isinstance(device, int) and not isinstance(device, bool):
        if not 0 <= device < devices.count():
            raise devices.invalid_ordinal(device)
        return device
    found = Device("cuda") if device is None else Device(device)
    if found.type != "cuda":
        raise ValueError(f"Expected a cuda device, but got: {found}")
    index = devices.resolve(found).index
    assert index is not None
    return index


# ------------------------------------------------------------------------------ the current device


def current_device() -> int:
    """The index of the device that `cuda` means in this thread."""
    return index_of()


def set_device(device: Device | str | int) -> None:
    """Make `device` the current one of this thread; a negative index changes nothing."""
    if isinstance(device, int) and device < 0:
        return
    pools.set_current(index_of(device))


class device:
    """Makes a device the current one inside a block. None and negative indices change nothing."""

    def __init__(self, device: Device | str | int | None) -> None:
        self.idx: int | None = device if isinstance(device, int) else None
        if isinstance(device, (str, Device)):
            found = Device(device)
            if found.type != "cuda":
                raise ValueError(f"Expected a cuda device, but got: {found}")
            self.idx = -1 if found.index is None else found.index
        self.prev_idx: list[int] = []

    def __enter__(self) -> None:
        self.prev_idx.append(pools.current())
        if self.idx is not None and self.idx >= 0:
            pools.set_current(index_of(self.idx))

    def __exit__(self, *exc: object) -> None:
        pools.set_current(self.prev_idx.pop())


# ---------------------------------------------------------------------------------- what they are


class DeviceProperties(NamedTuple):
    """The result of `get_device_properties`; fields that a simulation has no answer for are absent."""

    name: str
    total_memory: int
    major: int
    minor: int
    multi_processor_count: int


def get_device_properties(device: Device | str | int | None = None) -> DeviceProperties:
    index_of(device)
    pool = pools.pool()
    assert pool is not None, "a device exists"
    name = f"Simulated device, {pools.readable(pool.capacity)}"
    return DeviceProperties(name, pool.capacity, *get_device_capability(device), 1)


def get_device_name(device: Device | str | int | None = None) -> str:
    return get_device_properties(device).name


def get_device_capability(device: Device | str | int | None = None) -> tuple[int, int]:
    """(8, 0), the first that has bfloat16: what programs ask this for."""
    index_of(device)
    return 8, 0


def is_bf16_supported(including_emulation: bool = True) -> bool:
    return is_available()


def synchronize(device: Device | str | int | None = None) -> None:
    """Returns at once: every operation is finished when its call returns."""
    index_of(device)
