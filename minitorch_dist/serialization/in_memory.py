"""How tensors lie in memory when they are saved, and are laid out in the same way again.

Tensors that share memory have it stored once, under the name of one that covers all of it:

    weight  ████████████   the entry "weight"; its strides are noted where rows are not in order
    row        ███          a window on "weight": an offset, a shape, strides

If none covers it (only interleaved pieces were saved), the memory gets an entry of its own.
Pieces that do not touch each other share nothing that could be seen, and are stored apart. A lone
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
from minitorch_dist.tensors.storages import root

# {"in": entry}, perhaps with "strides"; or with "dtype", "shape", "strides" and "offset" in bytes
Window = dict[str, Any]


def arrange(arrays: list[Array], names: list[str], keys: Collection[str] = ()) -> tuple[dict[str, Array], list[Window]]:
    """The arrays to write, by name, and for each of `arrays` its place in them.

    Other readers will look for `keys`: an array with such a name is written in full under it.
    """
    entries: dict[str, Array] = {}
    windows: list[Window] = [{} for _ in arrays]
    bounds = [byte_bounds(array) for array in arrays]
    for group in _touching(arrays, bounds):
        low, high = min(bounds[n][0] for n in group), max(bounds[n][1] for n in group)
        first = group[0]
        lone = arrays[first] if len(group) == 1 else None
        carrier = _carrier(arrays, [n for n in group if bounds[n] == (low, high)])
        if lone is not None and carrier is None and _is_worth(lone, high - low, names[first] in keys):
            carrier = first
        if carrier is not None:
            name, stored = names[carrier], arrays[carrier]
            own: Window = {"in": name}
            if not stored.flags.c_contiguous:
                own["strides"] = list(stored.strides)
        elif lone is not None and high - low > lone.nbytes:
            name, stored, own = names[first], lone, {"in": names[first]}
        else:
            name = free_name(f"{names[first]}.storage", {*names, *entries, *keys})
            lowest = next(arrays[n] for n in group if bounds[n][0] == low)
            stored, own = _bytes_from(lowest, high - low), {"in": name}
        entries[name] = stored
        for n in group:
            same = _geometry(arrays[n]) == _geometry(stored)
            windows[n] = own if same else _window(arrays[n], name, low)
    return entries, windows


def _touching(arrays: list[Array], bounds: list[tuple[int, int]]) -> list[list[int]]:
    """The numbers of the arrays, grouped: those in one memory whose ranges overlap are together."""
    groups: list[list[int]] = []
    last, end = -1, 0  # of the last group: which memory, and how far it reaches
    place = {n: (id(root(a)) if a.size else -1 - n, *bounds[n]) for n, a in enumerate(arrays)}
    for n in sorted(place, key=lambda n: place[n]):
        memory, low, high = place[n]
        if groups and memory == last and low < end:
            groups[-1].append(n)
            end = max(end, high)
        else:
            groups.append([n])
            last, end = memory, high
    return sorted(sorted(group) for group in groups)


def _carrier(arrays: list[Array], candidates: list[int]) -> int | None:
    """Which of the candidates holds all the memory: best one that lies row by row."""
    dense = [n for n in candidates if is_dense(arrays[n])]
    return next((n for n in dense if arrays[n].flags.c_contiguous), dense[0] if dense else None)


def _is_worth(array: Array, span: int, is_key: bool) -> bool:
    """Whether a lone tensor is stored with its strides. At most half of its span may be gaps, and (unless its
    name must be found) it must not repeat itself more than twice.
    """
    fits = all(s >= 0 and s % array.itemsize == 0 for s in array.strides)
    return fits and span <= 2 * array.nbytes and (is_key or array.nbytes <= 2 * span)


def is_dense(array: Array) -> bool:
    """Whether the elements lie side by side, in whatever order of the axes."""
    widest_first = sorted(range(array.ndim), key=lambda axis: -array.strides[axis])
    return array.transpose(widest_first).flags.c_contiguous


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
    return {
        "in": name,
        "dtype": str(array.dtype),
        "shape": list(array.shape),
        "strides": list(array.strides),
        "offset": address - low,
    }


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


def window_on(window: Window, memory: Array) -> Array:
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
