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
from minitorch_dist.tensors.double_backward.recording_array import NotDifferentiable, RecordingArray
from minitorch_dist.tensors.double_backward.remade import CONSTANTS, REMADE, named
from minitorch_dist.tensors.double_backward.rules import HELPERS
from minitorch_dist.tensors.double_backward.windows import RecordingWindow

_TENSORS = "minitorch_dist.tensors."
OFFERED = {
    "core": "operations",
    "extras.elementwise": "exponentials trigonometry",
    "extras.linear_algebra": "added_products",
    "extras.shapes": "rearranging",
    "ops.along_axes": "extrema norms ordering reductions scans",
    "ops.elementwise": "arithmetic comparison conversion copying division error_function exponentials extremes "
    "mixtures powers rounding trigonometry",
    "ops.images": "padding",
    "ops.indexing": "gathering indexing masking overwriting selecting",
    "ops.layers": "activations classification dropout embedding linear losses rectifiers softmaxes",
    "ops.linear_algebra": "contraction products solving",
    "ops.statistics": "similarity",
    "ops.shapes": "axes broadcasting joining pieces rearranging reshaping",
}
"""Modules of `tensors` whose gradients a test differentiates (`tests/autograd/test_double_backward.py`)."""

_PLAIN = (
    int, float, str, slice, type, np.dtype, dtypes.dtype, device, np.ufunc, EllipsisType, type(None),
    BuiltinFunctionType, type(np.sum),
)  # fmt: skip


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
        if isinstance(thing, FunctionType):
            return self._function(thing)
        if isinstance(thing, MethodType) and type(thing.__self__) is Window:
            return getattr(RecordingWindow(thing.__self__), thing.__name__)
        if isinstance(thing, (list, tuple)):
            return type(thing)([self.replaced(each) for each in thing])
        if (
            isinstance(thing, np.generic)
            and self.number is not None
            and thing == np.asarray(self.number)
        ):
            return self.number  # a result without dimensions was a scalar of numpy's at first
        if isinstance(thing, dict):
            return {key: self.replaced(each) for key, each in thing.items()}
        if isinstance(thing, (np.ndarray, np.generic)) and thing.dtype.kind in "iub":
            return thing
        if isinstance(thing, _PLAIN) or named(type(thing)) in CONSTANTS:
            return thing
        raise NotDifferentiable(self.name)

    def _function(self, function: FunctionType) -> Any:
        """The same code, with other contents in its closure."""
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
        called = {name: HELPERS[name] for name in function.__code__.co_names if name in HELPERS}
        return FunctionType(
            function.__code__, {**function.__globals__, **called}, function.__name__,
            function.__defaults__, tuple(map(CellType, closure)),
        )  # fmt: skip
