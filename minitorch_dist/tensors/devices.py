"""Where a tensor says it lives: `cpu`, or one of the simulated accelerators `cuda:0 … cuda:k`.

A device is a label on a CPU array. The simulated ones exist only when asked for (see `pools`);
without them this is a CPU-only PyTorch and answers with its errors. There is one object per
device, so labels are compared with `is`.
"""

from __future__ import annotations

import re
from contextvars import ContextVar
from typing import Any, Final

from minitorch_dist.tensors import pools
from minitorch_dist.tensors.pools import (
    Pool as Pool,
    count as count,
    pool as pool,
    simulated as simulated,
)

TYPES: Final = ("cpu", "cuda", "ipu", "xpu", "mkldnn", "opengl", "opencl", "ideep", "hip", "ve",
                "fpga", "maia", "xla", "lazy", "vulkan", "mps", "meta", "hpu", "mtia",
                "privateuseone")  # fmt: skip

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
        _defaults.set((*_defaults.get(), self))
        return self

    def __exit__(self, *exc: object) -> None:
        _defaults.set(_defaults.get()[:-1])


def _parse(spec: object, index: object) -> tuple[str, int | None]:
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
    if index >= pools.MOST:
        raise RuntimeError(f"Device index must be less than {pools.MOST}, got {index}")
    return index


CPU: Final = device("cpu")
_device = device  # for functions that have an argument of this name


# ---------------------------------------------------------------------------- where new tensors go

# The first entry is what set_default_device chose, the others are the `with` blocks around us.
_defaults: ContextVar[tuple[device | None, ...]] = ContextVar("default device", default=(None,))


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
    if found.type != "cuda":
        raise NotImplementedError(
            f"Could not make a tensor on '{found}': this library has the 'cpu' and simulated "
            "'cuda' devices, and a tensor always has its bytes (there is no 'meta')."
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
