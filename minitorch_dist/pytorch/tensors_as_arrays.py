"""The memory of torch's tensors as numpy arrays. Nothing is copied where a tensor lies in one piece.

float32, int64, bool, …    the same dtype in numpy
bfloat16                   `ml_dtypes.bfloat16`
float8, complex32          their bits, as integers: they can be moved, and not be added up
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final

import ml_dtypes
import numpy as np
import torch
from torch._subclasses.fake_tensor import FakeTensor
from torch.utils.dlpack import from_dlpack, to_dlpack

from minitorch_dist.distributed.mail.receives import Array
from minitorch_dist.distributed.overlaps import copy_to_write
from minitorch_dist.tensors.shape_arrays import functions as shape_functions

_SAME: Final = {
    torch.bool, torch.uint8, torch.int8, torch.int16, torch.int32, torch.int64, torch.uint16, torch.uint32,
    torch.uint64, torch.float16, torch.float32, torch.float64, torch.complex64, torch.complex128,
}  # fmt: skip
_BITS: Final = {1: torch.uint8, 2: torch.int16, 4: torch.int32}

WriteBack = Callable[[], None]


def array_of(tensor: torch.Tensor) -> Array:
    """The tensor's memory, with the tensor's shape and strides."""
    if type(tensor) is torch.Tensor and tensor.dtype in _SAME and not tensor.requires_grad:
        try:
            return _shared(tensor)
        except (BufferError, RuntimeError, TypeError):  # it has no such memory
            return _array_of(tensor)
    return _array_of(tensor)


def _shared(tensor: torch.Tensor) -> Array:
    """`tensor.numpy()` would keep the tensor's storage from being resized, as FullyShardedDataParallel does."""
    return from_dlpack(to_dlpack(tensor)).numpy()  # type: ignore[no-any-return]


def _array_of(tensor: torch.Tensor) -> Array:
    """The simple form, for any tensor. To ask where a tensor lies takes as long as all else."""
    if tensor.device.type != "cpu" or tensor.layout is not torch.strided:
        raise _unfit(tensor)
    if isinstance(tensor, FakeTensor):  # see `shapes`
        return _without_numbers(tensor)
    tensor = tensor.detach()
    if tensor.dtype in _SAME:
        return _shared(tensor)
    if tensor.dtype is torch.bfloat16:
        return _shared(tensor.view(torch.uint16)).view(ml_dtypes.bfloat16)
    return _shared(tensor.view(_BITS[tensor.element_size()]))


def _without_numbers(tensor: torch.Tensor) -> Array:
    """An array of this shape and dtype, which has no numbers either."""
    kept = tensor.dtype if has_numbers(tensor) else _BITS[tensor.element_size()]
    name = str(kept).removeprefix("torch.")
    dtype = ml_dtypes.bfloat16 if name == "bfloat16" else np.dtype(name)
    return shape_functions.empty(tuple(tensor.shape), dtype)  # type: ignore[no-any-return]


def has_numbers(tensor: torch.Tensor) -> bool:
    """Whether the array holds the tensor's numbers, and not only its bits."""
    return tensor.dtype in _SAME or tensor.dtype is torch.bfloat16


def _unfit(tensor: torch.Tensor) -> RuntimeError:
    if tensor.device.type != "cpu":
        return RuntimeError(
            f"the backend mtd moves tensors in the memory of the CPU, and this one is on {tensor.device}: "
            "pass tensor.cpu(), or take nccl for GPUs"
        )
    return RuntimeError(
        f"this operation takes dense tensors, and this one is {tensor.layout}: pass tensor.to_dense(). "
        "Only all_reduce takes sparse COO tensors"
    )


def to_send(tensor: torch.Tensor) -> Array:
    """The values in one piece: the tensor's own memory, if that is."""
    if tensor.is_conj() or tensor.is_neg():
        tensor = tensor.resolve_conj().resolve_neg()
    array = array_of(tensor)
    return array if array.flags.c_contiguous else array.copy(order="C")


def to_write(tensor: torch.Tensor) -> tuple[Array, WriteBack | None]:
    """An array in one piece that holds the tensor's values. Where it is not the tensor's own memory, call the
    function when the array was written."""
    if tensor.is_conj() or tensor.is_neg():
        raise RuntimeError(
            "the result would be written into a lazily conjugated or negated view: pass tensor.resolve_conj() "
            "or tensor.resolve_neg()"
        )
    own = array_of(tensor)
    if own.flags.c_contiguous and own.flags.writeable:
        return own, None
    array = copy_to_write(own)

    def write_back() -> None:
        own[...] = array

    return array, write_back


def all_to_send(tensors: Sequence[torch.Tensor]) -> list[Array]:
    return [to_send(tensor) for tensor in tensors]


def all_to_write(tensors: Sequence[torch.Tensor]) -> tuple[list[Array], WriteBack | None]:
    """The same for many tensors, with one function for all."""
    pairs = [to_write(tensor) for tensor in tensors]
    return [array for array, _ in pairs], in_turn([back for _, back in pairs])


def in_turn(functions: Sequence[WriteBack | None]) -> WriteBack | None:
    """One function that calls all of these; None if there are none."""
    real = [function for function in functions if function is not None]

    def act() -> None:
        for function in real:
            function()

    return act if real else None


def divide(array: Array, count: int) -> None:
    """The average of whole numbers, from their sum: rounded towards zero, as nccl does it."""
    array -= np.fmod(array, count)
    array //= count
