"""The names of devices that torch knows, and its errors for those that it does not."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Final

from minitorch_dist.tensors.core import device_labels
from minitorch_dist.tensors.core.device_labels import device

TYPES: Final = ("cpu", "cuda", "ipu", "xpu", "mkldnn", "opengl", "opencl", "ideep", "hip", "ve",
                "fpga", "maia", "xla", "lazy", "vulkan", "mps", "meta", "hpu", "mtia",
                "privateuseone")  # fmt: skip

MOST: Final = 128  # a device's index has to fit into torch's signed byte
_HOW = (
    "Simulated ones are made with MINITORCH_DIST_DEVICES=2x80GB in the environment, or with "
    "minitorch_dist.cuda.simulated(2) around a block."
)
NO_ACCELERATOR: Final = f"Cannot access accelerator device when none is available. {_HOW}"
NO_CUDA: Final = f"Torch not compiled with CUDA enabled. {_HOW}"


def parse(spec: object, index: object) -> tuple[str, int | None]:
    if index is not None and (not isinstance(index, int) or isinstance(index, bool)):
        raise TypeError(
            f"device(): argument 'index' (position 2) must be int, not {type(index).__name__}"
        )
    if isinstance(spec, int) and not isinstance(spec, bool) and index is None:
        if count() == 0 and spec >= 0:
            raise RuntimeError(NO_ACCELERATOR)
        return "cuda", _checked(spec)
    if not isinstance(spec, str):
        raise TypeError(
            "device(): argument 'type' (position 1) must be a str such as 'cuda:0', an int or a "
            f"device, not {type(spec).__name__}"
        )
    match = re.fullmatch(r"([A-Za-z_]+)(?::(0|[1-9][0-9]*))?", spec)
    if not match:
        raise RuntimeError(
            f"Invalid device string: '{spec}'; expected a type and an optional index, such as "
            "'cuda' or 'cuda:1'"
        )
    kind, number = match.groups()
    if kind not in TYPES:
        raise RuntimeError(
            f"Expected one of {', '.join(TYPES)} device type at start of device string: {kind}"
        )
    if number is not None and index is not None:
        raise RuntimeError(
            f"type (string) must not include an index because index was passed explicitly: {spec}"
        )
    chosen = index if number is None else int(number)
    return kind, None if chosen is None else _checked(chosen)


def _checked(index: int) -> int:
    if not 0 <= index < MOST:
        raise RuntimeError(f"Device index must not be negative, and less than {MOST}; got {index}")
    return index


def _none() -> int:
    return 0


count: Callable[[], int] = _none
"""How many accelerators there are; `tensors.devices` puts its own function here."""

device_labels.parse = parse
META: Final = device("meta")
