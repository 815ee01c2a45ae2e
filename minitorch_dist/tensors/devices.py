"""Where a tensor says it lives: `cpu`, or one of the simulated accelerators `cuda:0 … cuda:k`.

A device is a label on a CPU array. The simulated ones exist only when asked for, with
`MINITORCH_DIST_DEVICES=4x80GB` in the environment or with `simulated(4, "80GB")` around a block;
without them this is a CPU-only PyTorch and answers with its errors. There is one object per
device, so labels are compared with `is`.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, Final

_UNITS: Final = {"": 1, "B": 1, "KB": 10**3, "MB": 10**6, "GB": 10**9, "TB": 10**12,
                 "KIB": 2**10, "MIB": 2**20, "GIB": 2**30, "TIB": 2**40}  # fmt: skip


class device:
    """A device type and an index. `device("cuda:1")`, `device("cuda", 1)`, `device(1)`."""

    __slots__ = ("index", "type")
    _known: dict[tuple[str, int | None], device] = {}

    type: str
    index: int | None

    def __new__(cls, spec: str | int | device, index: int | None = None) -> device:
        if isinstance(spec, device):
            return spec
        kind, number = _parse(spec, index)
        found = cls._known.get((kind, number))
        if found is None:
            found = super().__new__(cls)
            found.type, found.index = kind, number
            cls._known[kind, number] = found
        return found

    def __repr__(self) -> str:
        index = "" if self.index is None else f", index={self.index}"
        return f"device(type={self.type!r}{index})"

    def __str__(self) -> str:
        return self.type if self.index is None else f"{self.type}:{self.index}"

    def __reduce__(self) -> tuple[Any, ...]:
        return (device, (str(self),))


def _parse(spec: str | int, index: int | None) -> tuple[str, int | None]:
    if isinstance(spec, int) and not isinstance(spec, bool):
        if count() == 0:
            raise RuntimeError(_NO_ACCELERATOR)
        if spec < 0:
            raise RuntimeError("Device index must not be negative")
        return "cuda", spec
    if not isinstance(spec, str):
        raise TypeError(
            f"device(): argument must be a str, int or device, not {type(spec).__name__}"
        )
    match = re.fullmatch(r"([a-z_]+)(?::(0|[1-9][0-9]*))?", spec)
    if not match:
        raise RuntimeError(f"Invalid device string: '{spec}'")
    kind, number = match.group(1), match.group(2)
    if kind not in ("cpu", "cuda", "meta"):
        raise RuntimeError(
            f"Expected one of cpu, cuda, meta device type at start of device string: {kind}"
        )
    if number is not None and index is not None:
        raise RuntimeError(
            f"type (string) must not include an index because index was passed explicitly: {spec}"
        )
    return kind, int(number) if number is not None else index


_NO_ACCELERATOR = (
    "Cannot access accelerator device when none is available. Simulated ones are made with "
    "MINITORCH_DIST_DEVICES=2x80GB in the environment, or minitorch_dist.cuda.simulated(2)."
)

CPU: Final = device("cpu")


# --------------------------------------------------------------------- the simulated accelerators


class Pool:
    """The simulated accelerators that exist: how many, and the budget of each in bytes."""

    def __init__(self, count: int, capacity: int) -> None:
        self.count, self.capacity = count, capacity
        self.current = 0

    def __repr__(self) -> str:
        return f"<Pool of {self.count} simulated devices, {self.capacity} bytes each>"


def parse_pool(text: str) -> Pool:
    """Read `4x80GB`, or `4` for four devices without a budget worth naming."""
    match = re.fullmatch(r"\s*(\d+)\s*(?:[xX]\s*([\d.]+)\s*([kKmMgGtT]?i?[bB]?))?\s*", text)
    if not match:
        raise ValueError(
            f"MINITORCH_DIST_DEVICES={text!r} is not understood; write for example 4x80GB or 2x512MiB"
        )
    number, size, unit = match.groups()
    unit = (unit or "").upper()
    if unit and not unit.endswith("B"):
        unit += "B"
    return Pool(int(number), int(float(size) * _UNITS[unit]) if size else 80 * 10**9)


_pool: ContextVar[Pool | None] = ContextVar("devices", default=None)
_from_environment: dict[str, Pool] = {}


def pool() -> Pool | None:
    """The pool of this thread, else the one the environment asks for, else None."""
    found = _pool.get()
    if found is None:
        text = os.environ.get("MINITORCH_DIST_DEVICES", "")
        if text:
            found = _from_environment.get(text)
            if found is None:
                found = _from_environment[text] = parse_pool(text)
    return found


def count() -> int:
    found = pool()
    return found.count if found else 0


@contextmanager
def simulated(count: int, memory: int | str = "80GB") -> Iterator[Pool]:
    """Simulated accelerators for the length of a block."""
    made = parse_pool(f"{count}x{memory}")
    token = _pool.set(made)
    try:
        yield made
    finally:
        _pool.reset(token)


def resolve(spec: str | int | device | None) -> device:
    """The device a new tensor goes to; raises as a CPU-only torch does when it does not exist."""
    if spec is None or spec == "cpu" or spec is CPU:
        return CPU
    found = device(spec)
    if found.type == "cpu":
        return CPU
    if found.type == "meta":
        raise NotImplementedError(
            "meta tensors are not offered: a tensor here always has its bytes"
        )
    here = pool()
    if here is None or here.count == 0:
        raise AssertionError(
            "Torch not compiled with CUDA enabled (this is a CPU-only build; "
            + _NO_ACCELERATOR
            + ")"
        )
    index = here.current if found.index is None else found.index
    if index >= here.count:
        raise RuntimeError(
            f"CUDA error: invalid device ordinal: cuda:{index} was asked for and only "
            f"{here.count} simulated device(s) exist (cuda:0 … cuda:{here.count - 1})"
        )
    return device("cuda", index)
