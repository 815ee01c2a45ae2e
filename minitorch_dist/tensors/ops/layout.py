"""How a tensor lies in memory: sizes, strides, bytes. Nothing here is recorded."""

from __future__ import annotations

from typing import Any, overload

from minitorch_dist.tensors import devices, dtypes, storage
from minitorch_dist.tensors.base import TensorBase
from minitorch_dist.tensors.ops.reductions import axis
from minitorch_dist.tensors.size import Size

_size = tuple.__new__  # without the checks of Size(): numpy's shapes are tuples of ints


def shape(self: TensorBase) -> Size:
    return _size(Size, self.array.shape)


def ndim(self: TensorBase) -> int:
    return self.array.ndim


def dim(self: TensorBase) -> int:
    """The number of dimensions."""
    return self.array.ndim


@overload
def size(self: TensorBase, dim: None = None) -> Size: ...
@overload
def size(self: TensorBase, dim: int) -> int: ...
def size(self: TensorBase, dim: int | None = None) -> Size | int:
    """The shape, or the length of one dimension."""
    if dim is None:
        return _size(Size, self.array.shape)
    return int(self.array.shape[_dimension(self, dim)])


def _dimension(self: TensorBase, dim: int) -> int:
    if self.array.ndim == 0:
        raise IndexError(f"Dimension specified as {dim} but tensor has no dimensions")
    return axis(dim, self.array.ndim)


def numel(self: TensorBase) -> int:
    """How many elements there are."""
    return self.array.size


def length(self: TensorBase) -> int:
    if not self.array.ndim:
        raise TypeError("len() of a 0-d tensor")
    return int(self.array.shape[0])


@overload
def stride(self: TensorBase, dim: None = None) -> tuple[int, ...]: ...
@overload
def stride(self: TensorBase, dim: int) -> int: ...
def stride(self: TensorBase, dim: int | None = None) -> tuple[int, ...] | int:
    """How many elements lie between neighbours, along each dimension or along `dim`."""
    x = self.array
    if not x.size:  # numpy's strides of an empty array say nothing
        steps = contiguous_strides(x.shape)
    else:
        steps = tuple([s // x.itemsize for s in x.strides])
        if 0 in steps:
            steps = _continued(x.shape, steps)
    return steps if dim is None else steps[_dimension(self, dim)]


def _continued(shape: tuple[int, ...], steps: tuple[int, ...]) -> tuple[int, ...]:
    """New axes of length 1 have stride 0 in numpy; torch continues the pattern of the next one."""
    out = list(steps)
    for place in reversed(range(len(shape))):
        if shape[place] == 1 and not steps[place]:
            last = place + 1 == len(shape)
            out[place] = 1 if last else shape[place + 1] * out[place + 1]
    return tuple(out)


def contiguous_strides(shape: tuple[int, ...]) -> tuple[int, ...]:
    """The strides of an array of this shape that is written down row by row."""
    steps, step = [], 1
    for side in reversed(shape):
        steps.append(step)
        step *= max(side, 1)
    return tuple(reversed(steps))


def is_contiguous(self: TensorBase, memory_format: Any = None) -> bool:
    """Whether the elements follow each other row by row (or channel by channel, if asked)."""
    x = self.array
    if str(memory_format) == "torch.channels_last" and x.ndim == 4:
        return bool(x.transpose(0, 2, 3, 1).flags.c_contiguous)
    return bool(x.flags.c_contiguous)


def element_size(self: TensorBase) -> int:
    """The bytes of one element."""
    return self.array.itemsize


def nbytes(self: TensorBase) -> int:
    return self.array.size * self.array.itemsize


def data_ptr(self: TensorBase) -> int:
    """The address of the first element."""
    return int(self.array.__array_interface__["data"][0])


def storage_offset(self: TensorBase) -> int:
    """How many elements lie in the storage before the first one of this tensor."""
    start = self.storage.array.__array_interface__["data"][0]
    return int(data_ptr(self) - start) // self.array.itemsize


def untyped_storage(self: TensorBase) -> storage.Storage:
    """The bytes this tensor looks at, which it may share with others."""
    return self.storage


def is_floating_point(self: TensorBase) -> bool:
    return self.array.dtype.kind not in "iub"


def is_complex(self: TensorBase) -> bool:
    """False: there are no complex tensors here."""
    return False


def is_signed(self: TensorBase) -> bool:
    return dtypes.FROM_NUMPY[self.array.dtype].is_signed


def is_cpu(self: TensorBase) -> bool:
    return self.storage.device is devices.CPU


def is_cuda(self: TensorBase) -> bool:
    return self.storage.device.type == "cuda"


def get_device(self: TensorBase) -> int:
    """The index of the simulated accelerator this tensor is on; -1 on the CPU."""
    index = self.storage.device.index
    return -1 if index is None else index
