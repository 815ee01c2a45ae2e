"""Between tensors and the arrays that are sent: the only place where the two layers touch.

A received message is written into the tensor's own array where that is contiguous. Otherwise it is
written into an array of its own, which is copied back when all is there. Nothing is recorded for
autograd, but the storage's version counts the write. So a backward that needs the old values raises.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from minitorch_dist.distributed.mail.receives import Array
from minitorch_dist.distributed.overlaps import copy_to_write
from minitorch_dist.tensors.core.base import TensorBase


def check_tensor(value: Any, name: str) -> None:
    if not isinstance(value, TensorBase):
        raise TypeError(
            f"Invalid function argument. Expected parameter `{name}` of type torch.Tensor but got {type(value)} instead."
        )
    if value.is_part:
        raise NotImplementedError(
            f"collectives and messages take ordinary tensors, and `{name}` is a DTensor: to_local() is this rank's part, "
            "full_tensor() the whole, and redistribute() does the collectives that other placements need"
        )


def check_tensors(values: Any, name: str) -> None:
    if not isinstance(values, list):
        raise TypeError(f"Invalid function argument. Expected parameter `{name}` to be a list, but got {type(values)}.")
    for value in values:
        check_tensor(value, name)


def is_plain(tensor: Any) -> bool:
    """Whether a tensor can be sent from, and written to, where it is."""
    try:
        return not tensor.is_part and tensor.array.flags.carray
    except AttributeError:  # it is not a tensor
        return False


def to_send(tensor: TensorBase, beside: Array | None = None) -> Array:
    """The tensor's values in one piece: its own array, if that is. A copy where it lies in the array `beside`, which
    is written before all of these are sent."""
    array = tensor.array
    if not array.flags.c_contiguous:
        return array.copy(order="C")
    return array if beside is None or not np.may_share_memory(array, beside) else array.copy()


def to_write(tensor: TensorBase) -> tuple[Array, Callable[[], None]]:
    """An array in one piece that holds the tensor's values; call the function when it was written."""
    own, storage = tensor.array, tensor.storage
    array = own if own.flags.c_contiguous and own.flags.writeable else copy_to_write(own)

    def written() -> None:
        if array is not own:
            own[...] = array
        storage.version += 1

    return array, written
