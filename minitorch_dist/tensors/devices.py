"""Where a tensor says it lives: `cpu`, `meta`, or one of the simulated accelerators `cuda:0 … cuda:k`.

A device is a label on a CPU array; a tensor on `meta` has a shape and no numbers (see `shape_arrays`). The simulated ones exist only when asked for (see `pools`);
without them this is a CPU-only PyTorch and answers with its errors. The label itself
is `core.device_labels.device`.
"""

from __future__ import annotations

from minitorch_dist.tensors import device_names, pools
from minitorch_dist.tensors.core.device_labels import (
    CPU as CPU,
    defaults as _defaults,
    device as device,
)
from minitorch_dist.tensors.device_names import (
    META as META,
    NO_ACCELERATOR as NO_ACCELERATOR,
    NO_CUDA as NO_CUDA,
    TYPES as TYPES,
)
from minitorch_dist.tensors.pools import (
    DevicePool as DevicePool,
    count as count,
    pool as pool,
    simulated as simulated,
)

_device = device  # for functions that have an argument of this name


# ---------------------------------------------------------------------------- where new tensors go


def set_default_device(device: device | str | int | None) -> None:
    """Where new tensors of this thread go from now on; None is the CPU."""
    chosen = None if device is None else _device(device)
    _defaults.set((chosen, *_defaults.get()[1:]))


def get_default_device() -> device:
    return resolve(None)


def resolve(spec: str | int | device | None) -> device:
    """The device a tensor goes to; raises as a CPU-only torch does when it does not exist."""
    if spec is None:
        spec = _defaults.get()[-1]
        if spec is None:
            return CPU
    if spec is CPU:
        return CPU
    if not isinstance(spec, (str, int, device)) or isinstance(spec, bool):
        raise TypeError(f"argument 'device' must be torch.device, not {type(spec).__name__}")
    found = device(spec)
    if found.type == "cpu":
        return CPU
    if found.type == "meta":
        return META
    if found.type != "cuda":
        raise NotImplementedError(
            f"Could not make a tensor on '{found}': this library has the 'cpu', 'meta' and simulated "
            "'cuda' devices."
        )
    available = count()
    if not available:
        raise AssertionError(NO_CUDA)
    index = pools.current() if found.index is None else found.index
    if index >= available:
        raise invalid_ordinal(index)
    return device("cuda", index)


def invalid_ordinal(index: int) -> AcceleratorError:
    return AcceleratorError(
        f"CUDA error: invalid device ordinal: cuda:{index} was asked for, and "
        f"{count()} simulated device(s) exist (cuda:0 … cuda:{count() - 1})"
    )


class AcceleratorError(RuntimeError):
    """Something was asked of an accelerator that it cannot do."""


device_names.count = count
