"""How tensors lie in memory when they are saved, and are laid out in the same way again.

Tensors that share memory have it stored once, under the name of one that covers all of it:

    weight  ████████████   the entry "weight"; its strides are noted where rows are not in order
    row        ███          a window on "weight": an offset, a shape, strides

If none covers it (only pieces of it were saved), the memory gets an entry of its own. A lone
tensor that is mostly gaps is stored without them, and comes back dense.
"""

from __future__ import annotations

import math
from collections.abc import Collection
from typing import Any

import numpy as np
from numpy.lib.array_utils import byte_bounds
from numpy.lib.stride_tricks import as_strided

from minitorch_dist.serialization.container import NAMES, Array, Entry, are_sizes, as_bytes
from minitorch_dist.tensors.ledger import root

Window = dict[
    str, Any
]  # {"in": entry}, perhaps with "strides"; or with dtype, shape, strides, offset


def arrange(
    arrays: list[Array], names: list[str], reserved: Collection[str] = ()
) -> tuple[dict[str, Array], list[Window]]:
    """What to write under which name, and for each of `arrays` where it lies in that."""
    entries: dict[str, Array] = {}
    windows: list[Window] = [{} for _ in arrays]
    for group in _by_memory(arrays):
        bounds = {n: byte_bounds(arrays[n]) for n in group}
        low, high = min(b[0] for b in bounds.values()), max(b[1] for b in bounds.values())
        carrier = _carrier(arrays, [n for n in group if bounds[n] == (low, high)], high - low)
        lone = arrays[group[0]] if len(group) == 1 else None
        if carrier is not None:
            name, stored = names[carrier], arrays[carrier]
            own: Window = {"in": name}
            if not stored.flags.c_contiguous:
                own["strides"] = list(stored.strides)
        elif lone is not None and high - low > lone.nbytes:
            name, stored, own = names[group[0]], lone, {"in": names[group[0]]}
        else:
            name = free_name(f"{names[group[0]]}.storage", {*names, *entries, *reserved})
            lowest = next(arrays[n] for n in group if bounds[n][0] == low)
            stored, own = _bytes_from(lowest, high - low), {"in": name}
        entries[name] = stored
        for n in group:
            same = _geometry(arrays[n]) == _geometry(stored)
            windows[n] = own if same else _window(arrays[n], name, low)
    return entries, windows


def _by_memory(arrays: list[Array]) -> list[list[int]]:
    """The numbers of the arrays, grouped by the memory they look at."""
    groups: dict[int, list[int]] = {}
    for number, array in enumerate(arrays):
        groups.setdefault(id(root(array)) if array.size else -number, []).append(number)
    return list(groups.values())


def _carrier(arrays: list[Array], candidates: list[int], span: int) -> int | None:
    """Which of the candidates can stand for the whole memory: best one that lies row by row, else
    one without gaps; a single one may have some, as long as half of the memory is its own."""
    for n in candidates:
        if arrays[n].flags.c_contiguous:
            return n
    for n in candidates:
        if is_dense(arrays[n]):
            return n
    if len(candidates) == 1:
        array = arrays[candidates[0]]
        fits = all(s >= 0 and s % array.itemsize == 0 for s in array.strides)
        if fits and span <= 2 * array.nbytes <= 4 * span:
            return candidates[0]
    return None


def is_dense(array: Array) -> bool:
    """Whether the elements lie side by side, in whatever order of the axes."""
    expected = array.itemsize
    for axis in sorted(range(array.ndim), key=lambda axis: array.strides[axis]):
        if array.shape[axis] != 1 and array.strides[axis] != expected:
            return False
        expected *= array.shape[axis]
    return True


def free_name(wanted: str, taken: Collection[str]) -> str:
    name, number = wanted, 1
    while name in taken:
        number += 1
        name = f"{wanted}.{number}"
    return name


def _geometry(array: Array) -> tuple[Any, ...]:
    return array.dtype, array.shape, array.strides, array.__array_interface__["data"][0]


def _window(array: Array, name: str, low: int) -> Window:
    address = array.__array_interface__["data"][0]
    return {"in": name, "dtype": str(array.dtype), "shape": list(array.shape),
            "strides": list(array.strides), "offset": address - low}  # fmt: skip


def _bytes_from(lowest: Array, count: int) -> Array:
    """`count` bytes of memory, from the first one that `lowest` looks at."""
    forward = lowest[tuple(slice(None, None, -1 if s < 0 else 1) for s in lowest.strides)]
    first = as_strided(forward, (1,), (lowest.itemsize,)).view(np.uint8)
    return as_strided(first, (count,), (1,))


# ------------------------------------------------------------------------------------- laying it out


def memory_for(entry: Entry, strides: Any) -> tuple[Array, Array]:
    """New memory for an entry, and the entry as it lies in it."""
    if strides is None:
        memory = np.empty(math.prod(entry.shape), entry.dtype)
        return memory, memory.reshape(entry.shape)
    size, itemsize = entry.stop - entry.start, entry.dtype.itemsize
    low, high = _reach(entry.shape, strides, itemsize)
    if low < 0 or high > 2 * size or high % itemsize or not size:
        raise ValueError(f"strides {strides} do not fit {entry.shape} of '{entry.name}'")
    memory = np.zeros(high // itemsize, entry.dtype)
    return memory, np.ndarray(entry.shape, entry.dtype, as_bytes(memory), 0, tuple(strides))


def look_through(window: Window, memory: Array) -> Array:
    """The window on `memory`. Raises ValueError if it does not lie in it."""
    shape, strides, offset = window["shape"], window["strides"], window["offset"]
    dtype = next((d for d in NAMES if str(d) == window["dtype"]), None)
    if dtype is None or not are_sizes(shape) or type(offset) is not int:
        raise ValueError(f"there is no window of {window['dtype']} and shape {shape} at {offset}")
    if math.prod(shape) == 0:
        return np.empty(shape, dtype)
    low, high = _reach(shape, strides, dtype.itemsize)
    if offset + low < 0 or offset + high > memory.nbytes:
        raise ValueError(f"a window reaches to byte {offset + high} of {memory.nbytes}")
    return np.ndarray(tuple(shape), dtype, as_bytes(memory), offset, tuple(strides))


def _reach(shape: Collection[int], strides: Any, itemsize: int) -> tuple[int, int]:
    """The first byte, and the one after the last, that an array of these strides touches."""
    if not all(type(s) is int for s in strides) or len(strides) != len(shape):
        raise ValueError(f"{strides} are not the strides of {len(shape)} axes")
    reach = [(n - 1) * s for n, s in zip(shape, strides, strict=True)]
    return sum(min(0, r) for r in reach), sum(max(0, r) for r in reach) + itemsize
