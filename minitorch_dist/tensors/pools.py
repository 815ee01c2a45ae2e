"""The simulated accelerators that exist: how many, and how many bytes each of them holds.

They are asked for with `MINITORCH_DIST_DEVICES=4x80GB` in the environment, or with
`simulated(4, "80GB")` around a block; otherwise there are none. A pool belongs to the thread that
asked for it, and to all that this thread starts with its context. So ranks that are threads may each
have their own. The environment's pool is shared by the process, like the cards of one machine.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, Final

VARIABLE: Final = "MINITORCH_DIST_DEVICES"
MOST: Final = 128  # a device's index has to fit into torch's signed byte
DEFAULT_MEMORY: Final = "80GB"

LARGEST: Final = 10**300  # bytes: a float holds no much larger number
_UNITS: Final = {"": 1, "B": 1, "KB": 10**3, "MB": 10**6, "GB": 10**9, "TB": 10**12, "PB": 10**15, "EB": 10**18,
                 "KIB": 2**10, "MIB": 2**20, "GIB": 2**30, "TIB": 2**40}  # fmt: skip


class DevicePool:
    """`count` devices with a budget of `capacity` bytes each."""

    def __init__(self, count: int, capacity: int) -> None:
        self.count, self.capacity = count, capacity
        self.ledgers: dict[int, Any] = {}  # by index, opened on first use (see `ledger`)


def parse_bytes(size: int | str) -> int:
    """`80GB`, `1.5 GiB`, `4096`: decimal units unless there is an `i` in them."""
    match = re.fullmatch(r"\s*(\d+(?:\.\d+)?)\s*([kmgt]?i?b?)\s*", str(size), re.IGNORECASE)
    if match:
        number, unit = match.group(1), match.group(2).upper()
        unit += "" if unit.endswith("B") or not unit else "B"
        if unit in _UNITS and float(number) > 0:
            return int(float(number) * _UNITS[unit]) if "." in number else int(number) * _UNITS[unit]
    raise ValueError(
        f"a device's memory cannot be {size!r}; expected a positive number of bytes "
        "with an optional unit, for example 80GB, 512MiB or 4096"
    )


def parse_pool(text: str) -> DevicePool:
    """Read `4x80GB`, or `4` for devices of the usual size."""
    match = re.fullmatch(r"\s*(\d{1,9})\s*(?:[xX*]\s*(.*))?", text)
    if not match:
        raise ValueError(
            f"{VARIABLE}={text!r} is not understood; expected how many devices and the memory of "
            "each, for example 4x80GB or 2x512MiB (or 4 alone, for 4x80GB)"
        )
    count, size = int(match.group(1)), match.group(2)
    if count > MOST:
        raise ValueError(f"{VARIABLE}={text!r} asks for {count} devices; at most {MOST} can exist")
    try:
        return DevicePool(count, parse_bytes(DEFAULT_MEMORY if size is None else size))
    except ValueError as error:
        raise ValueError(f"{VARIABLE}={text!r} is not understood: {error}") from None


def readable(nbytes: float) -> str:
    """A size as a person says it: `80 GB`, `1.5 MB`, `312 B`."""
    units = ["B", "KB", "MB", "GB", "TB", "PB", "EB"]
    value = float(min(abs(nbytes), LARGEST))
    while value >= 999.5 and len(units) > 1:
        value /= 1000
        units.pop(0)
    digits = f"{value:.0f}" if value >= 100 or units[0] == "B" else f"{value:.3g}"
    return f"{'-' if nbytes < 0 else ''}{digits} {units[0]}"


# ----------------------------------------------------------------------------- which pool is in use

_chosen: ContextVar[DevicePool | None] = ContextVar("devices", default=None)
_current: ContextVar[int] = ContextVar("current device", default=0)
_from_environment: dict[str, DevicePool] = {}


def pool() -> DevicePool | None:
    """The pool of this thread, else the one the environment asks for, else None."""
    found = _chosen.get()
    if found is None:
        text = os.environ.get(VARIABLE)
        if text:
            found = _from_environment.get(text)
            if found is None:
                found = _from_environment.setdefault(text, parse_pool(text))
    return found


def count() -> int:
    found = pool()
    return found.count if found else 0


def current() -> int:
    """The index that `cuda` without an index means in this thread."""
    return _current.get()


def set_current(index: int) -> None:
    _current.set(index)


@contextmanager
def simulated(devices: int | str | DevicePool, memory: int | str = DEFAULT_MEMORY) -> Iterator[DevicePool]:
    """Simulated accelerators for the length of a block, in this thread.

    `simulated(2, "16GB")` or `simulated("2x16GB")` makes new ones; with a pool that exists
    already its devices are used again. `simulated(0)` is a machine without any.
    """
    if isinstance(devices, DevicePool):
        made = devices
    else:
        made = parse_pool(devices if isinstance(devices, str) else f"{devices}x{memory}")
    before, index = _chosen.set(made), _current.set(0)
    try:
        yield made
    finally:
        _current.reset(index)
        _chosen.reset(before)
