"""How a tensor lies in memory: sizes, strides, bytes. Nothing here is recorded."""

from __future__ import annotations

from typing import overload

from minitorch_dist.tensors import devices, dtypes
from minitorch_dist.tensors.core.base import TensorBase
from minitorch_dist.tensors.core.operations import axis
from minitorch_dist.tensors.core.view_geometry import address
from minitorch_dist.tensors.size import Size
from minitorch_dist.tensors.storages import UntypedStorage

_size = tuple.__new__  # without the checks of Size(): numpy's shapes are tuples of ints


def shape(input: TensorBase) -> Size:
    return _size(Size, input.array.shape)


def ndim(input: TensorBase) -> int:
    return input.array.ndim


def dim(input: TensorBase) -> int:
    """The number of dimensions."""
    return input.array.ndim


@overload
def size(input: TensorBase, dim: None = None) -> Size: ...
@overload
def size(input: TensorBase, dim: int) -> int: ...
def size(input: TensorBase, dim: int | None = None) -> Size | int:
    """The shape, or the length of one dimension."""
    if dim is None:
        return _size(Size, input.array.shape)
    return int(input.array.shape[_dimension(input, dim)])


def _dimension(input: TensorBase, dim: int) -> int:
    if input.array.ndim == 0:
        raise IndexError(f"Dimension specified as {dim} but tensor has no dimensions")
    return axis(dim, input.array.ndim)


def elements(input: TensorBase) -> int:
    """How many elements there are."""
    return input.array.size


def numel(input: TensorBase) -> int:
    """The same as a function; of a tensor that lies on several ranks it is the number in the whole."""
    return int(input.numel())  # type: ignore[attr-defined]


def length(input: TensorBase) -> int:
    if not input.array.ndim:
        raise TypeError("len() of a 0-d tensor")
    return int(input.array.shape[0])


@overload
def stride(input: TensorBase, dim: None = None) -> tuple[int, ...]: ...
@overload
def stride(input: TensorBase, dim: int) -> int: ...
def stride(input: TensorBase, dim: int | None = None) -> tuple[int, ...] | int:
    """How many elements lie between neighbours, along each dimension or along `dim`."""
    x = input.array
    if not x.size:  # numpy's strides of an empty array say nothing
        steps = contiguous_strides(x.shape)
    else:
        steps = tuple([s // x.itemsize for s in x.strides])
        if 0 in steps:
            steps = _continued(x.shape, steps)
    return steps if dim is None else steps[_dimension(input, dim)]


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


def element_size(input: TensorBase) -> int:
    """The bytes of one element."""
    return input.array.itemsize


def nbytes(input: TensorBase) -> int:
    return input.array.size * input.array.itemsize


def data_ptr(input: TensorBase) -> int:
    """The address of the first element; 0 where there is none."""
    return 0 if is_meta(input) else address(input.array)


def storage_offset(input: TensorBase) -> int:
    """How many elements lie in the storage before the first one of this tensor."""
    return (address(input.array) - address(input.storage.array)) // input.array.itemsize


def untyped_storage(input: TensorBase) -> UntypedStorage:
    """The bytes this tensor looks at, which it may share with others."""
    return UntypedStorage(input.storage)


def is_floating_point(input: TensorBase) -> bool:
    return input.array.dtype.kind not in "iubc"


def is_complex(input: TensorBase) -> bool:
    """Whether the elements are complex numbers."""
    return bool(input.array.dtype.kind == "c")


class layout:
    """How elements are stored: `strided`, where each dimension has a step."""

    def __init__(self, name: str = "strided") -> None:
        self.name = name

    def __repr__(self) -> str:
        return f"torch.{self.name}"

    def __reduce__(self) -> str:
        return self.name


class memory_format(layout):
    """An order of the dimensions in memory, for `is_contiguous` and `contiguous`."""


strided = layout()
contiguous_format = memory_format("contiguous_format")
preserve_format = memory_format("preserve_format")
channels_last = memory_format("channels_last")


def layout_of(input: TensorBase) -> layout:
    return strided


def never(input: TensorBase) -> bool:
    """False: a tensor here is never sparse, quantized or nested."""
    return False


def is_signed(input: TensorBase) -> bool:
    return dtypes.FROM_NUMPY[input.array.dtype].is_signed


def is_cpu(input: TensorBase) -> bool:
    return input.storage.device is devices.CPU


def is_cuda(input: TensorBase) -> bool:
    return input.storage.device.type == "cuda"


def is_meta(input: TensorBase) -> bool:
    """Whether it has a shape and a type, and no numbers."""
    return input.storage.device is devices.META
