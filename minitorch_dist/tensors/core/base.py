"""A tensor without its operations: the bytes, and a place in a graph.

A tensor is a numpy array (`array`), the storage it looks at, and its place in the graph of
recorded operations: `_grad_fn` made it, as output number `_output_nr`; or it is a leaf, and
`_accumulate` collects its gradient. Operations are added by `tensor.Tensor`, one floor up.

All views of a tensor share one `Storage`. Its `version` counts in-place writes: an operation that
keeps a tensor for its backward notes the version, and the engine compares (see `graph`). Its
`device` is a label; only simulated devices are accounted for (see `observers`).
"""

from __future__ import annotations

import weakref
from typing import Any, ClassVar, TypeAlias, TypeVar

import numpy as np

from minitorch_dist.tensors.core import device_labels, dtypes, grad_mode, observers

Array: TypeAlias = np.ndarray[Any, Any]
Number: TypeAlias = "int | float | bool | complex"
T = TypeVar("T", bound="TensorBase")


class TensorBase:
    """State without operations. Defaults stand on the class: most tensors set only two fields."""

    array: Array
    storage: Storage
    _requires_grad: bool = False
    _grad: Any = None
    _grad_fn: Any = None
    _output_nr: int = 0
    _accumulate: Any = None  # a leaf's own node, made on first use
    _base: Any = None  # of a view: the tensor that owns the storage
    _seen_version: int = 0  # of a view: the storage's version its _grad_fn speaks of
    _view_note: str = ""  # of a view that must not be written to while recording: why not
    _inference: bool = False
    _retains_grad: bool = False

    held_as: ClassVar[str] = "other"  # under this category its device's memory is counted
    plain: ClassVar[type[Any]]  # the class of results: Tensor, also where a Parameter went in

    # ------------------------------------------------------------------ where it stands in memory

    @property
    def dtype(self) -> dtypes.dtype:
        return dtypes.FROM_NUMPY[self.array.dtype]

    @property
    def device(self) -> device_labels.device:
        return self.storage.device

    @property
    def _version(self) -> int:
        """How often this storage has been written in place."""
        if self._inference:
            raise RuntimeError("Inference tensors do not track version counter.")
        return self.storage.version

    def companion(self, array: Array) -> Any:
        """A tensor that belongs to this one, element by element: a gradient's average, a mask."""
        return new(self.plain, array, self.storage.device)

    def __hash__(self) -> int:
        """A tensor is a key by itself: `==` compares element by element."""
        return id(self)

    # ------------------------------------------------------------------- where it stands in a graph

    @property
    def requires_grad(self) -> bool:
        """Whether gradients flow to this tensor or, if it is a view, to its base."""
        return self._requires_grad or (self._base is not None and self._base._requires_grad)

    @requires_grad.setter
    def requires_grad(self, value: bool) -> None:
        if self._grad_fn is not None:
            if value:
                return
            raise RuntimeError(
                "you can only change requires_grad flags of leaf variables. If you want to use a "
                "computed variable in a subgraph that doesn't require differentiation use "
                "var_no_grad = var.detach()."
            )
        if value and self.array.dtype.kind in "iub":
            raise RuntimeError("only Tensors of floating point dtype can require gradients")
        if value and self._inference and not grad_mode.is_inference_mode_enabled():
            raise RuntimeError(
                "Setting requires_grad=True on inference tensor outside InferenceMode is not allowed."
            )
        self._requires_grad = bool(value)

    @property
    def output_nr(self) -> int:
        """Which of its node's outputs this tensor is."""
        return self._output_nr

    @property
    def retains_grad(self) -> bool:
        """Whether `retain_grad` was asked of this tensor, which is not a leaf."""
        return self._retains_grad

    def is_inference(self) -> bool:
        """Whether it was made in `inference_mode`, and can therefore never enter a graph."""
        return self._inference

    def _is_view(self) -> bool:
        return self._base is not None

    @property
    def grad(self: T) -> T | None:
        """The gradient collected by the last backward passes; None until there was one."""
        if self._grad is None and self._grad_fn is not None and not self._retains_grad:
            import warnings

            warnings.warn(
                "The .grad attribute of a Tensor that is not a leaf Tensor is being accessed. Its "
                ".grad attribute won't be populated during autograd.backward(). If you indeed want "
                "the .grad field to be populated for a non-leaf Tensor, use .retain_grad() on the "
                "non-leaf Tensor.",
                UserWarning,
                stacklevel=2,
            )
        return self._grad  # type: ignore[no-any-return]

    @grad.setter
    def grad(self: T, value: T | None) -> None:
        if value is not None:
            if not isinstance(value, TensorBase):
                raise TypeError(
                    f"assigned grad expected to be a Tensor or None but got {type(value).__name__}"
                )
            if value is self:
                raise RuntimeError("can't assign Variable as its own grad")
            if value.array.shape != self.array.shape:
                raise RuntimeError(
                    f"assigned grad has data of a different size: {list(value.array.shape)} for a "
                    f"tensor of size {list(self.array.shape)}"
                )
            if value.array.dtype != self.array.dtype:
                raise RuntimeError(
                    f"attempting to assign a gradient with dtype '{value.dtype}' to a tensor with "
                    f"dtype '{self.dtype}'. The gradient must match the tensor's type."
                )
            if value.storage.device is not self.storage.device:
                raise RuntimeError(
                    "attempting to assign a gradient located on device "
                    f"'{value.device}' to a tensor on device '{self.device}'."
                )
            if value.storage.device is not device_labels.CPU:
                observers.memory.collected(value.array, value.storage.device)
        self._grad = value

    @grad.deleter
    def grad(self) -> None:
        self._grad = None


def new(cls: type[T], array: Array, device: device_labels.device = device_labels.CPU) -> T:
    """A tensor that owns `array`; numpy scalars (results of 0-dim arithmetic) become 0-dim arrays."""
    if type(array) is not np.ndarray:
        array = np.asanyarray(array)
    out = object.__new__(cls)
    out.array = array
    out.storage = Storage(array, device)
    if grad_mode.mode.get() == grad_mode.INFERENCE:
        out._inference = True
    return out


# ------------------------------------------------------------------------------------- the bytes

_given_up: dict[int, Any] = {}
"""Memory that `resize_(0)` has freed, by the id of its owner."""


def root(array: Array) -> Array:
    """The array that owns the memory `array` looks at."""
    base: Any = array.base
    while base is not None:
        if isinstance(base, np.ndarray):
            array = base
        elif not isinstance(getattr(base, "base", None), np.ndarray):
            break  # memory that numpy does not own: a buffer of somebody else
        base = base.base  # (an as_strided view hangs on a dummy, which holds the array)
    return array


class Storage:
    __slots__ = ("array", "device", "version")

    def __init__(self, array: Array, device: device_labels.device = device_labels.CPU) -> None:
        self.array = array
        self.device = device
        self.version = 0
        if device is not device_labels.CPU:
            observers.memory.stored(array, device)

    def alias(self) -> Storage:
        """The same bytes with a version counter of its own: what `Tensor.data` promises."""
        twin = Storage.__new__(Storage)
        twin.array, twin.device, twin.version = self.array, self.device, 0
        return twin

    def to(self, device: device_labels.device | str | int) -> Storage:
        """A copy on another device; itself if it is there already."""
        target = device_labels.accelerators.resolve(device)
        return self if target is self.device else Storage(self.array.copy(), target)

    def cuda(self, device: device_labels.device | str | int | None = None) -> Storage:
        return self.to("cuda" if device is None else device)

    def cpu(self) -> Storage:
        return self.to(device_labels.CPU)

    def nbytes(self) -> int:
        owner = root(self.array)
        return 0 if id(owner) in _given_up else int(owner.nbytes)

    size = nbytes

    def resize_(self, size: int) -> Storage:
        """Give the bytes up (0), or take them back.

        All tensors on these bytes are concerned, as when FSDP frees a parameter that it has
        gathered. Its device counts them as freed; their content is lost, and reads as nan.
        """
        owner = root(self.array)
        key = id(owner)
        if size == 0 and key not in _given_up:
            noted = observers.memory.given_up(owner, self.device)
            _given_up[key] = weakref.ref(owner, lambda _: _given_up.pop(key, None)), noted
            if owner.flags.writeable and owner.dtype.kind not in "iub":
                owner.fill(np.nan)
        elif size > owner.nbytes:
            raise RuntimeError(
                f"cannot resize a storage of {owner.nbytes} bytes to {size}: other tensors may look "
                "at it. Make a new tensor, or use Tensor.resize_."
            )
        elif size and key in _given_up:
            if self.device is not device_labels.CPU:
                observers.memory.taken_back(owner, self.device, _given_up[key][1])
            del _given_up[key]
        return self

    def data_ptr(self) -> int:
        """The address of the memory; 0 where there is none."""
        if self.device is device_labels.META:
            return 0
        return int(root(self.array).ctypes.data)

    def __repr__(self) -> str:
        return f"<Storage {self.nbytes()} bytes on {self.device}, version {self.version}>"
