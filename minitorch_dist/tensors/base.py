"""What a tensor is, before it can do anything.

A tensor is a numpy array (`array`), the storage it looks at, and its place in the graph of
recorded operations: `_grad_fn` made it, as output number `_output_nr`; or it is a leaf, and
`_accumulate` collects its gradient. Operations are added by `tensor.Tensor`, one floor up.
"""

from __future__ import annotations

from typing import Any, ClassVar, TypeAlias, TypeVar

import numpy as np

from minitorch_dist.tensors import devices, dtypes, grad_mode, ledger
from minitorch_dist.tensors.storage import Storage

Array: TypeAlias = np.ndarray[Any, Any]
Number: TypeAlias = "int | float | bool"
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

    held_as: ClassVar[str] = "other"  # in the ledger of its device
    plain: ClassVar[type[Any]]  # the class of results: Tensor, also where a Parameter went in

    # ------------------------------------------------------------------ where it stands in memory

    @property
    def dtype(self) -> dtypes.dtype:
        return dtypes.FROM_NUMPY[self.array.dtype]

    @property
    def device(self) -> devices.device:
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
            if value.storage.device is not devices.CPU:
                ledger.retag(value.array, value.storage.device, "gradient")
        self._grad = value

    @grad.deleter
    def grad(self) -> None:
        self._grad = None


def new(cls: type[T], array: Array, device: devices.device = devices.CPU) -> T:
    """A tensor that owns `array`; numpy scalars (results of 0-dim arithmetic) become 0-dim arrays."""
    if type(array) is not np.ndarray:
        array = np.asarray(array)
    out = object.__new__(cls)
    out.array = array
    out.storage = Storage(array, device)
    if grad_mode.mode.get() == grad_mode.INFERENCE:
        out._inference = True
    return out
