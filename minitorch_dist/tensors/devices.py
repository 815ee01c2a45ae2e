"""Where a tensor says it lives: `cpu`, `meta`, or one of the simulated accelerators `cuda:0 … cuda:k`.

A device is a label on a CPU array; a tensor on `meta` has a shape and no numbers (see `shape_arrays`). The simulated ones exist only when asked for (see `pools`);
without them this is a CPU-only PyTorch and answers with its errors. The label itself
is `core.device_labels.device`.
"""

from __future__ import annotations

import re
from typing import Final

from minitorch_dist.tensors import pools
from minitorch_dist.tensors.core import device_labels
from minitorch_dist.tensors.core.device_labels import CPU as CPU, META as META, defaults as _defaults, device as device
from minitorch_dist.tensors.pools import (
    MOST,
    DevicePool as DevicePool,
    count as count,
    pool as pool,
    simulated as simulated,
)

TYPES: Final = (
    "cpu", "cuda", "ipu", "xpu", "mkldnn", "opengl", "opencl", "ideep", "hip", "ve", "fpga", "maia", "xla", "lazy",
    "vulkan", "mps", "meta", "hpu", "mtia", "privateuseone",
)  # fmt: skip
_HOW = (
    "Simulated ones are made with MINITORCH_DIST_DEVICES=2x80GB in the environment, or with "
    "minitorch_dist.cuda.simulated(2) around a block."
)
NO_ACCELERATOR: Final = f"Cannot access accelerator device when none is available. {_HOW}"
NO_CUDA: Final = f"Torch not compiled with CUDA enabled. {_HOW}"


# ------------------------------------------------------------------------------------- their names


def parse(spec: object, index: object) -> tuple[str, int | None]:
    if index is not None and (not isinstance(index, int) or isinstance(index, bool)):
        raise TypeError(f"device(): argument 'index' (position 2) must be int, not {type(index).__name__}")
    if isinstance(spec, int) and not isinstance(spec, bool) and index is None:
        if count() == 0 and spec >= 0:
            raise RuntimeError(NO_ACCELERATOR)
        return "cuda", _checked(spec)
    if not isinstance(spec, str):
        raise TypeError(f"device() takes a str such as 'cuda:0', an int or a device, not {type(spec).__name__}")
    match = re.fullmatch(r"([A-Za-z_]+)(?::(0|[1-9][0-9]*))?", spec)
    if not match:
        raise RuntimeError(f"Invalid device string: '{spec}'; expected a name such as 'cuda' or 'cuda:1'")
    kind, number = match.groups()
    if kind not in TYPES:
        raise RuntimeError(f"Expected one of {', '.join(TYPES)} device type at start of device string: {kind}")
    if number is not None and index is not None:
        raise RuntimeError(f"type (string) must not include an index because index was passed explicitly: {spec}")
    chosen = index if number is None else int(number)
    return kind, None if chosen is None else _checked(chosen)


def _checked(index: int) -> int:
    if not 0 <= index < MOST:
        raise RuntimeError(f"Device index must not be negative, and less than {MOST}; got {index}")
    return index


# ---------------------------------------------------------------------------- where new tensors go


def resolve(spec: str | int | device | None) -> device:
    """The device a tensor goes to; raises as a CPU-only torch does when it does not exist."""
    if spec is None:
        spec = _defaults.get()[-1]
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
        raise NotImplementedError(f"Could not make a tensor on '{found}': there are 'cpu', 'meta' and simulated 'cuda'")
    available = count()
    if not available:
        raise AssertionError(NO_CUDA)
    index = pools.current() if found.index is None else found.index
    if index >= available:
        raise invalid_ordinal(index)
    return device("cuda", index)


def invalid_ordinal(index: int) -> AcceleratorError:
    return AcceleratorError(f"CUDA error: invalid device ordinal: cuda:{index}, of {count()} simulated device(s)")


class AcceleratorError(RuntimeError):
    """Something was asked of an accelerator that it cannot do."""


device_labels.parse = parse
