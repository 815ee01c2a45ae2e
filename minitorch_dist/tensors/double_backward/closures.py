"""The functions of a node, with recording arrays in place of the arrays that they keep.

A function that computes a gradient keeps arrays in its closure. Those that its node has declared as read belong to
tensors, whose place in the graph is known. Any other array of floating numbers would be taken for a constant, though
it may be made of a tensor. So such a function is refused, unless `remade` can make the array again.
"""

from __future__ import annotations

from types import BuiltinFunctionType, CellType, EllipsisType, FunctionType, MethodType
from typing import Any

import numpy as np

from minitorch_dist.tensors import dtypes
from minitorch_dist.tensors.core.base import Array
from minitorch_dist.tensors.core.device_labels import device
from minitorch_dist.tensors.core.view_geometry import Window
from minitorch_dist.tensors.double_backward.inner_functions import INNER
from minitorch_dist.tensors.double_backward.recording_array import NotDifferentiable, RecordingArray
from minitorch_dist.tensors.double_backward.remade import CONSTANTS, REMADE, named
from minitorch_dist.tensors.double_backward.windows import RecordingWindow
from minitorch_dist.tensors.ops.images.sliding import Axis

_TENSORS = "minitorch_dist.tensors."
OFFERED = {
    "": "promotion",
    "core": "operations",
    "extras.along_axes": "scans",
    "extras.elementwise": "error_function exponentials gamma rounding trigonometry",
    "extras.indexing": "replacing scatter_reduction",
    "extras.linear_algebra": "added_products matrices",
    "extras.shapes": "grids rearranging",
    "ops": "complex_numbers",
    "ops.along_axes": "extrema norms ordering quantiles reductions scans",
    "ops.elementwise": "arithmetic comparison conversion copying division error_function exponentials extremes "
    "mixtures powers rounding trigonometry",
    "ops.images": "adaptive_pooling columns padding pixels",
    "ops.indexing": "flat_indexing gathering indexing masking overwriting selecting",
    "ops.layers": "activations classification dropout embedding linear losses random_activations rectifiers softmaxes",
    "ops.linear_algebra": "contraction decompositions matrices products pseudoinverse solving",
    "ops.making": "draws random",
    "ops.statistics": "differences similarity",
    "ops.shapes": "axes broadcasting joining pieces rearranging reshaping striding",
}
"""Modules of `tensors` whose gradients a test differentiates (`tests/autograd/test_double_backward.py`)."""

_PLAIN = (
    int, float, str, slice, type, np.dtype, dtypes.dtype, device, np.ufunc, EllipsisType, type(None),
    BuiltinFunctionType, type(np.sum), Axis,
)  # fmt: skip


def _is_reshaped(thing: Array, array: Array) -> bool:
    """Whether these are all elements of `array`, in their order."""
    same = thing.dtype == array.dtype and 0 < thing.size == array.size
    dense = same and thing.flags.c_contiguous and array.flags.c_contiguous
    return dense and bool(thing.ctypes.data == array.ctypes.data)


class Reads:
    """The arrays that a node reads, each with its recording array."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.arrays: list[Array] = []
        self.recorded: list[RecordingArray] = []
        self.number: RecordingArray | None = None  # its result, if that has no dimensions

    def add(self, array: Array, recorded: RecordingArray, is_result: bool) -> None:
        self.arrays.append(array)
        self.recorded.append(recorded)
        if is_result and not array.ndim:
            self.number = recorded

    def replaced(self, thing: Any) -> Any:
        """`thing`, which a closure keeps, with recording arrays in it."""
        for array, recorded in zip(self.arrays, self.recorded, strict=True):
            if thing is array:
                return recorded
            if isinstance(thing, np.ndarray) and _is_reshaped(thing, array):
                return recorded.reshape(thing.shape)
        if isinstance(thing, FunctionType):
            return self._function(thing)
        if isinstance(thing, MethodType) and type(thing.__self__) is Window:
            return getattr(RecordingWindow(thing.__self__), thing.__name__)
        if type(thing) in (list, tuple):
            return type(thing)([self.replaced(each) for each in thing])
        if (
            isinstance(thing, np.generic)
            and self.number is not None
            and np.array_equal(thing, np.asarray(self.number), equal_nan=True)
        ):
            return self.number  # a result without dimensions was a scalar of numpy's at first
        if isinstance(thing, dict):
            return {key: self.replaced(each) for key, each in thing.items()}
        if isinstance(thing, (np.ndarray, np.generic)) and (
            thing.dtype.kind in "iub" or not thing.size
        ):
            return thing
        if not isinstance(thing, np.generic) and (
            isinstance(thing, _PLAIN) or named(type(thing)) in CONSTANTS
        ):
            return thing  # a number of numpy's may be a result, though a Python float, too
        raise NotDifferentiable(self.name)

    def _function(self, function: FunctionType) -> Any:
        """The same code, with other contents in its closure."""
        if function.__closure__ is None and function.__name__ in INNER:
            return INNER[function.__name__]
        package, _, module = function.__module__.removeprefix(_TENSORS).rpartition(".")
        if module not in OFFERED.get(package, "").split():
            raise NotDifferentiable(self.name)
        names = function.__code__.co_freevars
        kept = [cell.cell_contents for cell in function.__closure__ or ()]
        cells = dict(zip(names, kept, strict=True))
        remake = REMADE.get(named(function))
        made = {} if remake is None else remake(cells, self.recorded)
        closure = [
            made[name] if name in made else self.replaced(content)
            for name, content in cells.items()
        ]
        called = {name: INNER[name] for name in function.__code__.co_names if name in INNER}
        return FunctionType(
            function.__code__, {**function.__globals__, **called}, function.__name__,
            function.__defaults__, tuple(map(CellType, closure)),
        )  # fmt: skip
