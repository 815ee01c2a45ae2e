"""Where loaded tensors go: back to the device they were saved on, unless `map_location` says else."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TypeAlias

from minitorch_dist.serialization.container import Array
from minitorch_dist.tensors import devices
from minitorch_dist.tensors.core.base import Storage
from minitorch_dist.tensors.storages import UntypedStorage

MapLocation: TypeAlias = (
    "str | devices.device | Mapping[str, str] | Callable[[UntypedStorage, str], UntypedStorage | None] | None"
)


def place(memory: Array, label: str, map_location: MapLocation) -> Storage:
    """The storage of `memory`, which was saved on the device `label`.

    A name or device takes everything there. A dict renames the devices that it knows; the others
    stay what they were. A function gets the storage on the CPU and the label. It returns the storage in its
    place, for example `storage.cuda(1)`, or None to leave it to the label.
    """
    if isinstance(map_location, (str, devices.device)):
        label = str(map_location)
    elif isinstance(map_location, Mapping):
        label = str(map_location.get(label, label))
    elif callable(map_location):
        placed = map_location(UntypedStorage(Storage(memory)), label)
        if placed is not None:
            if not isinstance(placed, UntypedStorage):
                raise TypeError(f"map_location() should return a storage or None, not a {type(placed).__name__}")
            return placed.storage
    elif map_location is not None:
        raise TypeError(
            f"map_location should be a str, a device, a dict or a function, not {type(map_location).__name__}"
        )
    return Storage(memory, _existing(label))


def _existing(label: str) -> devices.device:
    try:
        return devices.resolve(label)
    except (RuntimeError, AssertionError) as error:
        words = (
            f"Attempting to deserialize object on {label}: {error} Take map_location='cpu', or a device that exists."
        )
        raise RuntimeError(words) from None
