"""A tensor without its operations: the bytes, and a place in a graph.

A tensor is a numpy array (`array`), the storage it looks at, and its place in the graph of
recorded operations: `_grad_fn` made it, as output number `_output_nr`; or it is a leaf, and
`_accumulate` collects its gradient.

All views of a tensor share one `Storage`. Its `version` counts in-place writes: an operation that
keeps a tensor for its backward notes the version, and the engine compares (see `graph`). Its
`device` is a label; only simulated devices are accounted for (see `observers`).
"""

from __future__ import annotations

import warnings
from typing import Any, ClassVar, TypeAlias, TypeVar

import numpy as np

from minitorch_dist.tensors.core import observers
from minitorch_dist.tensors.core.device_labels import CPU, device as Device
from minitorch_dist.tensors.core.grad_mode import INFERENCE, current_mode

Array: TypeAlias = np.ndarray[Any, Any]
Number: TypeAlias = "int | float | bool | complex"
T = TypeVar("T", bound="TensorBase")


class Storage:
    """The bytes under a tensor and its views."""

    __slots__ = ("array", "device", "version")

    def __init__(self, array: Array, device: Device = CPU) -> None:
        self.array = array
        self.device = device
        self.version = 0
        if device is not CPU:
            observers.memory.stored(array, device)

    def alias(self) -> Storage:
        """The same bytes with a version counter of its own: what `Tensor.data` promises."""
        twin = Storage.__new__(Storage)
        twin.array, twin.device, twin.version = self.array, self.device, 0
        return twin


class TensorBase:
    """State without operations. It stands in slots, so that the `__dict__` of a tensor is its user's alone.
    `new` and `bare` are the only places that make a tensor."""

    __slots__ = (
        "__dict__", "__weakref__", "_accumulate", "_base", "_grad", "_grad_fn", "_inference", "_lying",
        "_output_nr", "_requires_grad", "_retains_grad", "_seen_version", "_view_note", "array", "storage",
    )  # fmt: skip

    array: Array
    storage: Storage
    _requires_grad: bool
    _grad: Any
    _grad_fn: Any
    _output_nr: int
    _accumulate: Any  # a leaf's own node, made on first use
    _base: Any  # of a view: the tensor that owns the storage
    _seen_version: int  # of a view: the storage's version its _grad_fn speaks of
    _view_note: str  # of a view that must not be written to while recording: why not
    _inference: bool
    _retains_grad: bool
    _lying: Any  # of a distributed tensor: its mesh, its placements, and the shape of the whole

    held_as: ClassVar[str] = "other"  # under this category its device's memory is counted
    plain: ClassVar[type[Any]]  # the class of results: Tensor, also where a Parameter went in
    is_part: ClassVar[bool] = False  # whether the array is one rank's part of a larger tensor

    @property
    def dtype(self) -> Any:
        """The type of its elements; `Tensor` has torch's name for it."""
        return self.array.dtype

    @property
    def device(self) -> Device:
        return self.storage.device

    @property
    def requires_grad(self) -> bool:
        """Whether gradients flow to this tensor or, if it is a view, to its base."""
        return self._requires_grad or (self._base is not None and self._base._requires_grad)

    @requires_grad.setter
    def requires_grad(self, value: bool) -> None:
        if self._grad_fn is not None:
            if value:
                return
            raise RuntimeError("you can only change requires_grad flags of leaf variables: take detach() of this one")
        if value and self.array.dtype.kind in "iub":
            raise RuntimeError("only Tensors of floating point dtype can require gradients")
        if value and self._inference and current_mode() != INFERENCE:
            raise RuntimeError("Setting requires_grad=True on inference tensor outside InferenceMode is not allowed.")
        self._requires_grad = bool(value)

    @property
    def grad(self: T) -> T | None:
        """The gradient collected by the last backward passes; None until there was one."""
        if self._grad is None and self._grad_fn is not None and not self._retains_grad:
            warnings.warn(".grad of a tensor that is no leaf is None unless retain_grad() was called", stacklevel=2)
        return self._grad  # type: ignore[no-any-return]

    @grad.setter
    def grad(self: T, value: T | None) -> None:
        if value is not None:
            if not isinstance(value, TensorBase):
                raise TypeError(f"assigned grad expected to be a Tensor or None but got {type(value).__name__}")
            if value is self:
                raise RuntimeError("can't assign Variable as its own grad")
            mine, theirs = self.array, value.array
            if (theirs.shape, theirs.dtype) != (mine.shape, mine.dtype):
                raise RuntimeError(
                    f"a gradient must be {mine.dtype}{list(mine.shape)}, and this is {theirs.dtype}{list(theirs.shape)}"
                )
            if value.storage.device is not self.storage.device:
                raise RuntimeError(f"a gradient on {value.device} cannot be assigned to a tensor on {self.device}")
            if value.storage.device is not CPU:
                observers.memory.collected(value.array, value.storage.device)
        self._grad = value

    @grad.deleter
    def grad(self) -> None:
        self._grad = None

    def __hash__(self) -> int:
        """A tensor is a key by itself: `==` compares element by element."""
        return id(self)


def new(cls: type[T], array: Any, device: Device = CPU) -> T:
    """A tensor that owns `array`; numpy scalars (results of 0-dim arithmetic) become 0-dim arrays."""
    if type(array) is not np.ndarray:
        array = np.asanyarray(array)
    out = bare(cls, array, Storage(array, device))
    if current_mode() == INFERENCE:
        out._inference = True
    return out


def bare(cls: type[T], array: Array, storage: Storage) -> T:
    """A leaf that looks at a storage, without a gradient."""
    out = object.__new__(cls)
    out.array, out.storage = array, storage
    out._requires_grad = out._inference = out._retains_grad = False
    out._grad = out._grad_fn = out._accumulate = out._base = out._lying = None
    out._output_nr = out._seen_version = 0
    out._view_note = ""
    return out


_CLASS_NAMES = {"float32": "Float", "float64": "Double", "float16": "Half", "bfloat16": "BFloat16",
                "int8": "Char", "int16": "Short", "int32": "Int", "int64": "Long",
                "uint8": "Byte", "bool": "Bool", "complex64": "ComplexFloat",
                "complex128": "ComplexDouble"}  # fmt: skip


def type_name(array: Array) -> str:
    """torch's name for the type of a tensor in its messages: `torch.FloatTensor`."""
    return f"torch.{_CLASS_NAMES.get(str(array.dtype), str(array.dtype))}Tensor"
