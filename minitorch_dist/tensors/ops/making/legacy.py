"""The old constructors: `Tensor(2, 3)` and `LongTensor([1, 2])`.

Ints are a shape (of elements that mean nothing yet), one sequence is the data.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from minitorch_dist.tensors import devices, dtypes
from minitorch_dist.tensors.core import base
from minitorch_dist.tensors.core.base import Storage, T, TensorBase
from minitorch_dist.tensors.names import named
from minitorch_dist.tensors.ops.making import literals
from minitorch_dist.tensors.ops.making.new_arrays import sizes
from minitorch_dist.tensors.shape_arrays import mode
from minitorch_dist.tensors.size import Size


def construct(cls: type[T], dtype: dtypes.dtype, args: tuple[Any, ...]) -> T:
    """A tensor of `dtype` from a shape, a sequence, an array or a tensor (which is shared)."""
    like = mode.template(devices.CPU)
    if len(args) == 1 and not isinstance(args[0], (int, np.integer)):
        data = args[0]
        if isinstance(data, TensorBase):
            if data.array.dtype != dtype.numpy:
                raise TypeError(f"expected a tensor of {dtype} (got {data.dtype}): use to({dtype})")
            return base.bare(cls, data.array, data.storage)
        if isinstance(data, Size):
            return base.new(cls, np.empty(data, dtype.numpy, like=like))
        if not isinstance(data, (list, tuple, range, np.ndarray)):
            raise TypeError(f"new(): data must be a sequence (got {type(data).__name__})")
        return base.new(cls, mode.settled(literals.parse(data, dtype), devices.CPU))
    shape = sizes("new", args) if args else (0,)
    return base.new(cls, np.empty(shape, dtype.numpy, like=like))


def _legacy(name: str, dtype: dtypes.dtype) -> Callable[..., Any]:
    return named(lambda *args: construct(TensorBase.plain, dtype, args), name, f"A tensor of {dtype} on the CPU.")


FloatTensor = _legacy("FloatTensor", dtypes.float32)
DoubleTensor = _legacy("DoubleTensor", dtypes.float64)
HalfTensor = _legacy("HalfTensor", dtypes.float16)
BFloat16Tensor = _legacy("BFloat16Tensor", dtypes.bfloat16)
LongTensor = _legacy("LongTensor", dtypes.int64)
IntTensor = _legacy("IntTensor", dtypes.int32)
ByteTensor = _legacy("ByteTensor", dtypes.uint8)
BoolTensor = _legacy("BoolTensor", dtypes.bool_)


def new(cls: type[T], *args: Any, device: Any = None) -> T:
    """`Tensor(…)`: of the default dtype, or of that of the tensor it is made from."""
    shared = len(args) == 1 and isinstance(args[0], TensorBase)
    made = construct(cls, args[0].dtype if shared else dtypes.get_default_dtype(), args)
    if device is not None:
        made.storage = Storage(made.array, devices.resolve(device))
    return made
