"""The label that says where a tensor lives: `cpu`, or an accelerator, `cuda:0 … cuda:k`.

A device is a label on a CPU array. There is one object per device, so labels are compared with `is`. Here no
accelerator exists; `tensors.devices` attaches the simulated ones.
"""

from __future__ import annotations

import re
from contextvars import ContextVar
from typing import Any, Final

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


class device:
    """A device type and an index: `device("cuda:1")`, `device("cuda", 1)`, `device(1)`.

    As a context manager it is where new tensors go: `with device("cuda"): zeros(3)`.
    """

    __slots__ = ("index", "type")
    _known: dict[Any, device] = {}

    type: str
    index: int | None

    def __new__(cls, type: str | int | device, index: int | None = None) -> device:
        if index is None and type.__class__ is str:
            found = cls._known.get(type)
            if found is not None:
                return found
        elif isinstance(type, device) and index is None:
            return type
        key = _parse(type, index)
        found = cls._known.get(key)
        if found is None:
            made = super().__new__(cls)
            object.__setattr__(made, "type", key[0])
            object.__setattr__(made, "index", key[1])
            found = cls._known.setdefault(key, made)  # another thread may have been faster
            cls._known[str(found)] = found
        return found

    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError(f"attribute '{name}' of 'device' objects is not writable")

    def __repr__(self) -> str:
        index = "" if self.index is None else f", index={self.index}"
        return f"device(type={self.type!r}{index})"

    def __str__(self) -> str:
        return self.type if self.index is None else f"{self.type}:{self.index}"

    def __reduce__(self) -> tuple[Any, ...]:
        return (device, (str(self),))

    def __enter__(self) -> device:
        defaults.set((*defaults.get(), self))
        return self

    def __exit__(self, *exc: object) -> None:
        defaults.set(defaults.get()[:-1])


def _parse(spec: object, index: object) -> tuple[str, int | None]:
    if index is not None and (not isinstance(index, int) or isinstance(index, bool)):
        raise TypeError(
            f"device(): argument 'index' (position 2) must be int, not {type(index).__name__}"
        )
    if isinstance(spec, int) and not isinstance(spec, bool) and index is None:
        if accelerators.count() == 0 and spec >= 0:
            raise RuntimeError(NO_ACCELERATOR)
        return "cuda", _checked(spec)
    if not isinstance(spec, str):
        raise TypeError(
            "device(): argument 'type' (position 1) must be a str such as 'cuda:0', an int or a "
            f"device, not {type(spec).__name__}"
        )
    if not spec:
        raise RuntimeError("Device string must not be empty")
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
    if number is not None:
        return kind, _checked(int(number))
    return kind, None if index is None else _checked(index)


def _checked(index: int) -> int:
    if index < 0:
        raise RuntimeError(f"Device index must not be negative, got {index}")
    if index >= MOST:
        raise RuntimeError(f"Device index must be less than {MOST}, got {index}")
    return index


CPU: Final = device("cpu")
META: Final = device("meta")

# The first entry is what set_default_device chose, the others are the `with` blocks around us.
defaults: ContextVar[tuple[device | None, ...]] = ContextVar("default device", default=(None,))


class Accelerators:
    """Which accelerators there are: here, none."""

    def count(self) -> int:
        return 0

    def resolve(self, spec: device | str | int | None) -> device:
        """The device that something goes to; raises if it does not exist."""
        found = CPU if spec is None else device(spec)
        if found is not CPU:
            raise RuntimeError(NO_ACCELERATOR)
        return CPU


accelerators = Accelerators()


def attach(those: Accelerators) -> None:
    """From now on these accelerators exist."""
    global accelerators
    accelerators = those
