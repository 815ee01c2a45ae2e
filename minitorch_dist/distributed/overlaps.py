"""Arrays that share memory, in the arguments of one operation: refused, or copied.

    all_gather([t] * 3, x)          two outputs are one: which rank's values stay would depend on the wire. Refused
    all_to_all_single(t, t)         an input lies in an output: what is still to be sent is copied first

An output whose own elements share memory (`expand`) is refused like two outputs. Messages have no order among
ranks, so this is said here, for all wires, before anything is sent.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
from numpy.lib.array_utils import byte_bounds
from numpy.typing import NDArray

Array = NDArray[Any]


def check_apart(arrays: Sequence[Array], name: Callable[[int], str]) -> None:
    """Refuse arrays that are written if two of them share an element. `name(i)` is the i-th in an error."""
    for one, other in sorted(_touching(arrays, arrays)):
        if _share(arrays[one], arrays[other]):
            raise ValueError(
                f"{name(one)} and {name(other)} overlap in memory, so it would depend on the order of messages which "
                "values stay. Give each of them memory of its own: [torch.empty_like(t) for _ in range(n)] "
                "where [t] * n is n times the same tensor"
            )


def copied_where_shared(inputs: Sequence[Array], outputs: Sequence[Array]) -> list[Array]:
    """The inputs, as copies where they share memory with an output."""
    kept = list(inputs)
    for one in {one for one, _ in _touching(inputs, outputs)}:
        kept[one] = inputs[one].copy()
    return kept


def copy_to_write(own: Array) -> Array:
    """A copy in one piece for results, which is to be copied back; refused if two elements are one."""
    if overlaps_itself(own):
        raise RuntimeError(
            "unsupported operation: more than one element of the written-to tensor refers to a "
            "single memory location. Please clone() the tensor before performing the operation."
        )
    return own.copy(order="C")


def overlaps_itself(array: Array) -> bool:
    """Whether two of its elements are one."""
    reach = array.itemsize
    for stride, length in sorted((abs(s), n) for s, n in zip(array.strides, array.shape, strict=True)):
        if length > 1 and stride < reach:
            return len(np.unique(_addresses(array))) < array.size
        reach += stride * (length - 1)
    return False


def share_elements(one: Array, other: Array) -> bool:
    return bool(np.may_share_memory(one, other)) and _share(one, other)


def _touching(some: Sequence[Array], others: Sequence[Array]) -> Iterator[tuple[int, int]]:
    """The pairs of places in both lists whose arrays lie in a common part of memory, gaps included."""
    each = [*some] if others is some else [*some, *others]
    if all(array.flags.owndata for array in each) and len({*map(id, each)}) == len(each):
        return  # the usual case: each has memory of its own
    bounds = sorted((*_bounds(array), place) for place, array in enumerate(each) if _has_memory(array))
    open_ones: list[tuple[int, int, int]] = []
    for start, stop, place in bounds:
        open_ones = [one for one in open_ones if one[1] > start]
        for _, _, its_place in open_ones:
            low, high = sorted((place, its_place))
            if others is some:
                yield low, high
            elif low < len(some) <= high:
                yield low, high - len(some)
        open_ones.append((start, stop, place))


def _has_memory(array: Array) -> bool:
    """An array of a shape alone has none, and an empty one has no element to share."""
    return array.size > 0 and not getattr(array, "is_unwritten", False)


def _bounds(array: Array) -> tuple[int, int]:
    if array.flags.c_contiguous:
        start = array.__array_interface__["data"][0]
        return start, start + array.nbytes
    return byte_bounds(array)


def _share(one: Array, other: Array) -> bool:
    """Whether there is an element in both, which lie in a common part of memory."""
    if one.flags.c_contiguous and other.flags.c_contiguous:
        return True
    try:
        return np.shares_memory(one, other, max_work=100_000)  # type: ignore[arg-type]
    except np.exceptions.TooHardError:
        return len(np.intersect1d(_addresses(one), _addresses(other))) > 0


def _addresses(array: Array) -> NDArray[np.int64]:
    found = np.array(array.__array_interface__["data"][0], np.int64)
    for length, stride in zip(array.shape, array.strides, strict=True):
        found = np.add.outer(found, np.arange(length, dtype=np.int64) * stride)
    return found.reshape(-1)
