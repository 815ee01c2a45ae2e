"""`copy.copy`, `copy.deepcopy` and pickle of tensors.

Tensors that share memory still do so after one deepcopy of the structure that holds them. A pickle
holds the elements of the tensor itself: a view of one row does not carry its whole base along.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.lib.stride_tricks import as_strided

from minitorch_dist.tensors import devices, ledger
from minitorch_dist.tensors.core import base
from minitorch_dist.tensors.core.base import Array, Storage, T, TensorBase
from minitorch_dist.tensors.core.view_geometry import address, dense
from minitorch_dist.tensors.shape_arrays.array import has_numbers
from minitorch_dist.tensors.storages import root


def shallow(input: T) -> T:
    """Another tensor on the same memory, outside of the graph."""
    out: T = base.bare(type(input), input.array, input.storage)
    out._requires_grad = input._requires_grad
    out.__dict__.update(input.__dict__)
    return out


def deep(input: T, memo: dict[int, Any]) -> T:
    """A leaf on copied memory. Tensors that shared memory share the copy."""
    if id(input) in memo:
        return memo[id(input)]  # type: ignore[no-any-return]
    if input._grad_fn is not None or (input._base is not None and input.requires_grad):
        raise RuntimeError("only leaves can be copied deeply, and this was computed: detach() it first")
    owner = root(input.storage.array)
    if owner.flags.forc:
        twin, storage = _twin(owner, input, memo)
        offset = address(input.array) - address(owner)
        array = _window(twin, input.array, offset)
    else:
        array = dense(input.array)
        storage = Storage(array, input.storage.device)
    out: T = base.bare(type(input), array, storage)
    memo[id(input)] = out
    out._requires_grad = input.requires_grad
    if input._grad is not None:
        out._grad = input._grad.__deepcopy__(memo)
    if input.__dict__:
        from copy import deepcopy

        out.__dict__.update(deepcopy(input.__dict__, memo))
    return out


def _twin(owner: Array, input: TensorBase, memo: dict[int, Any]) -> tuple[Array, Storage]:
    """The copy of the memory, and its storage: made once per deepcopy."""
    found = memo.get(id(owner))
    if found is None:
        array = owner.copy(order="K")
        found = memo[id(owner)] = (array, Storage(array, input.storage.device), owner)
    return found[0], found[1]


def _window(owner: Array, like: Array, offset: int) -> Array:
    """A window with the shape, type and strides of `like` on the memory of `owner`; the offset in bytes."""
    memory = owner.ravel(order="K").view(np.uint8)
    if has_numbers(owner):
        return np.ndarray(like.shape, like.dtype, memory, offset, like.strides)
    first = memory[offset:][: like.itemsize].view(like.dtype)
    return as_strided(first, like.shape, like.strides, subok=True)


def reduce(input: TensorBase, protocol: Any) -> tuple[Any, ...]:
    """For pickle: the elements, the device, whether it is trained, and the user's attributes."""
    rest = dict(input.__dict__)
    array = dense(input.array) if 0 in input.array.strides else input.array
    return rebuild, (type(input), array, input.storage.device, input.requires_grad, rest)


def rebuild(cls: type[T], array: Array, device: devices.device, requires_grad: bool, rest: dict[str, Any]) -> T:
    """A leaf from what `reduce` said."""
    out = base.new(cls, array, devices.resolve(device))
    if out.storage.device is not devices.CPU:
        ledger.retag(array, out.storage.device, out.held_as)
    out._requires_grad = requires_grad
    out.__dict__.update(rest)
    return out
