"""`torch.accelerator`: the same devices as `cuda`, without naming their kind."""

from __future__ import annotations

from typing import Any

from minitorch_dist.cuda import current, memory, streams
from minitorch_dist.cuda.streams import Stream
from minitorch_dist.tensors import devices, dtypes, pools
from minitorch_dist.tensors.devices import NO_ACCELERATOR, device as Device

__path__: list[str] = []  # its modules in torch are not here (see not_offered)

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


current_device_idx, set_device_idx = current_device_index, set_device_index


class device_index:
    """Makes a device the current one inside a block; None changes nothing."""

    def __init__(self, device: int | None, /) -> None:
        self.idx = device
        self._before: list[int] = []

    def __enter__(self) -> None:
        self._before.append(pools.current())
        if self.idx is not None:
            set_device_index(self.idx)

    def __exit__(self, *exc: object) -> None:
        pools.set_current(self._before.pop())


def synchronize(device: Which = None, /) -> None:
    """Returns at once: every operation is finished when its call returns."""
    _index(device)


def current_stream(device: Which = None, /) -> Stream:
    return streams.current_stream(_index(device))


def set_stream(stream: Stream) -> None:
    _index(None)
    streams.set_stream(stream)


def get_device_capability(device: Which = None, /) -> dict[str, Any]:
    """The types that the device computes with: all the types there are."""
    _index(device)
    return {"supported_dtypes": set(dtypes.ALL)}


# -------------------------------------------------------------------------------------------- memory


def empty_cache() -> None:
    _index(None)


def memory_allocated(device_index: Which = None, /) -> int:
    return memory.memory_allocated(_index(device_index))


def max_memory_allocated(device_index: Which = None, /) -> int:
    return memory.max_memory_allocated(_index(device_index))


memory_reserved, max_memory_reserved = memory_allocated, max_memory_allocated


def memory_stats(device_index: Which = None, /) -> dict[str, Any]:
    return memory.memory_stats(_index(device_index))


def get_memory_info(device_index: Which = None, /) -> tuple[int, int]:
    """Free and total bytes of a device."""
    return memory.mem_get_info(_index(device_index))


def reset_peak_memory_stats(device_index: Which = None, /) -> None:
    memory.reset_peak_memory_stats(_index(device_index))


def reset_accumulated_memory_stats(device_index: Which = None, /) -> None:
    memory.reset_accumulated_memory_stats(_index(device_index))
