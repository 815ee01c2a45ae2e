"""An array that remembers how its numbers were made.

    g = recording(tensor)
    (g * y).history          the tensor `tensor * y`, with its node

numpy asks `__array_ufunc__` and `__array_function__` before it computes; `rules` answers by operations on tensors.
Each array has numbers of its own, so it can be written to, as the functions of a node do: `g *= y` gives it
another history. A write to a part `whole[key]` is a write to the whole.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NoReturn

import numpy as np

from minitorch_dist.tensors.core import base
from minitorch_dist.tensors.core.base import Array, TensorBase
from minitorch_dist.tensors.core.device_labels import CPU, device as Device

ANSWERS: dict[str, Callable[..., Any]] = {}
"""`rules` puts its functions in here: for a ufunc, for another function, and for an operation on tensors."""


class NotDifferentiable(RuntimeError):
    """A step of a backward pass that cannot be recorded."""

    def __init__(self, what: str) -> None:
        super().__init__(
            f"create_graph=True is not offered for {what}: it cannot be differentiated once more. Arithmetic, "
            "products, views, decompositions, softmax, losses, convolutions, norms, recurrent layers and your own "
            "autograd.Function can be. Write this part with them, or use finite differences of autograd.grad."
        )


class RecordingArray(np.ndarray[Any, Any]):
    """Numbers, and the tensor that they are."""

    history: TensorBase | None = None  # None: something computed with it that has no rule
    seen_from: tuple[RecordingArray, Callable[[Any], Any], Callable[[Array], Array]] | None = None
    """The array that this is a window on, and how tensors and numpy look through it."""
    writes = 0  # to these numbers, or of a window: to the whole when it last looked

    # --------------------------------------------------------------------------- numpy's protocols

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *inputs: Any, **options: Any) -> Any:
        out = options.pop("out", None)
        made = ANSWERS["ufunc"](ufunc, method, inputs, options)
        if out is None:
            return made
        if not isinstance(out[0], RecordingArray):
            raise NotDifferentiable(
                f"a gradient that is written to a kept array by {ufunc.__name__}"
            )
        out[0][...] = made
        return out[0]

    def __array_function__(self, func: Any, types: Any, args: Any, kwargs: Any) -> Any:
        return ANSWERS["function"](func, args, kwargs)

    # ---------------------------------------------------------------- methods that ask no protocol

    def __getitem__(self, key: Any) -> Any:
        return self.window(lambda t: t[_index(key)], lambda a: a[key])

    def __setitem__(self, key: Any, value: Any) -> None:
        if key is not Ellipsis:
            self[key][...] = value
            return
        self.history = self._made(lambda t: _as_large(tensor_of(value, t), t)).history
        super().__setitem__(..., np.asarray(value))
        root, places = self._places()
        if root is not self:
            root._put(places, self)
        root.writes += 1  # other windows look again
        self.writes = root.writes

    def _places(self) -> tuple[RecordingArray, Array]:
        """The array that has the numbers, and where in it this window's are."""
        if self.seen_from is None:
            return self, np.arange(self.size).reshape(self.shape)
        array, _, window = self.seen_from
        root, places = array._places()
        return root, window(places)

    def refresh(self) -> int:
        """How often the whole was written to; a window sees what is there now."""
        if self.seen_from is not None:
            array, operation, _ = self.seen_from
            writes = array.refresh()
            if self.writes != writes:
                fresh = array._made(operation)
                self.history, self.writes = fresh.history, writes
                super().__setitem__(..., fresh.view(np.ndarray))
        return self.writes

    def _put(self, places: Array, values: RecordingArray) -> None:
        def put(t: Any, v: Any) -> Any:
            flat = t.reshape(-1).clone()
            flat[constant(places.reshape(-1), t.storage.device)] = v.reshape(-1)
            return flat.reshape(t.shape)

        self.history = ANSWERS["made"](put, (self, values)).history
        np.ndarray.reshape(self.view(np.ndarray), -1)[places.reshape(-1)] = np.asarray(values).reshape(-1)  # fmt: skip

    def sum(
        self, axis: Any = None, dtype: Any = None, out: Any = None, keepdims: Any = False, **_: Any
    ) -> Any:
        return ANSWERS["function"](np.sum, (self, axis, dtype, keepdims), {})

    def reshape(self, *shape: Any, order: Any = "C") -> Any:  # type: ignore[override]
        sides = shape[0] if len(shape) == 1 and not isinstance(shape[0], int) else shape
        sides = tuple(int(n) for n in sides)
        return self.window(lambda t: t.reshape(sides), lambda a: a.reshape(sides))

    def ravel(self, order: Any = "C") -> Any:
        return self.reshape(-1)

    def swapaxes(self, axis1: Any, axis2: Any) -> Any:
        return self.window(lambda t: t.transpose(axis1, axis2), lambda a: a.swapaxes(axis1, axis2))

    def transpose(self, *axes: Any) -> Any:
        order = axes[0] if len(axes) == 1 and not isinstance(axes[0], int) else axes
        order = tuple(order) if order else tuple(range(self.ndim))[::-1]
        return self.window(lambda t: t.permute(order) if order else t, lambda a: a.transpose(order))

    @property
    def T(self) -> Any:
        return self.transpose()

    def diagonal(self, offset: Any = 0, axis1: Any = 0, axis2: Any = 1) -> Any:
        return self.window(
            lambda t: t.diagonal(offset, axis1, axis2), lambda a: a.diagonal(offset, axis1, axis2)
        )

    def squeeze(self, axis: Any = None) -> Any:
        return self.window(
            lambda t: t.squeeze() if axis is None else t.squeeze(axis), lambda a: a.squeeze(axis)
        )

    def astype(self, dtype: Any, *_: Any, copy: Any = True, **__: Any) -> Any:
        kind = np.dtype(dtype)
        if kind == self.dtype:
            return self.copy() if copy else self
        if kind.kind in "iub":
            return np.asarray(self).astype(kind)
        return self._made(lambda t: t.to(ANSWERS["dtype"](kind)))

    def copy(self, order: Any = "C") -> Any:
        return self._made(lambda t: t)

    def take(self, indices: Any, axis: Any = None, *_: Any, **__: Any) -> Any:
        where = (slice(None),) * axis + (np.asarray(indices),)
        return self._made(lambda t: t[_index(where)])

    def dot(self, other: Any, out: Any = None) -> Any:
        return np.matmul(self, other)

    def conj(self) -> Any:
        return self._made(lambda t: t.conj()) if self.dtype.kind == "c" else self.copy()

    @property  # type: ignore[misc]  # numpy's can be written to
    def real(self) -> Any:
        return self._made(lambda t: t.real) if self.dtype.kind == "c" else self

    @property  # type: ignore[misc]
    def imag(self) -> Any:
        return self._made(lambda t: t.imag)

    def view(self, *args: Any, **kwargs: Any) -> Any:
        if args and isinstance(args[0], type) and issubclass(args[0], np.signedinteger):
            return Bits(self)
        return super().view(*args, **kwargs)  # without a history, so it is refused if it arrives

    @property
    def __array_interface__(self) -> NoReturn:
        raise NotDifferentiable("a gradient whose memory is looked at in another way")

    def __float__(self) -> NoReturn:
        raise NotDifferentiable("a gradient that becomes a number of Python's")

    def item(self, *_: Any) -> NoReturn:
        self.__float__()

    # ------------------------------------------------------------------------------------ its own

    @staticmethod
    def of(tensor: TensorBase) -> RecordingArray:
        return recording(tensor)

    def _made(self, operation: Callable[[Any], Any]) -> RecordingArray:
        return ANSWERS["made"](operation, (self,))  # type: ignore[no-any-return]

    def window(
        self, operation: Callable[[Any], Any], look: Callable[[Array], Array]
    ) -> RecordingArray:
        """The result of `operation`, so that a write to it is a write to `self`."""
        seen = self._made(operation)
        seen.seen_from, seen.writes = (self, operation, look), self.writes
        return seen


class Bits:
    """The bits of a gradient, as `masks.only` reads them: a product with a mask chooses."""

    __array_priority__ = 1.0

    def __init__(self, array: RecordingArray, mask: Any = None) -> None:
        self.array, self.mask = array, mask

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *inputs: Any, **options: Any) -> Any:
        if ufunc is not np.multiply or inputs[0] is not self:
            raise NotDifferentiable(f"the bits of a gradient in {ufunc.__name__}")
        return Bits(self.array, np.asarray(inputs[1]))

    def view(self, dtype: Any) -> Any:
        return np.where(self.mask, self.array, self.array.dtype.type(0))


def recording(tensor: TensorBase) -> RecordingArray:
    """The numbers of `tensor`, which remember it."""
    if type(tensor.array) is not np.ndarray:
        raise NotDifferentiable("tensors without numbers")
    out = tensor.array.copy().view(RecordingArray)
    out.history = tensor
    return out


def history_of(array: RecordingArray) -> TensorBase:
    array.refresh()
    if array.history is None:
        raise NotDifferentiable("a step of numpy that has no rule")
    return array.history


def tensor_of(value: Any, like: Any) -> Any:
    """An operand as a tensor on the device of `like`; numbers of Python's stay as they are."""
    if isinstance(value, RecordingArray):
        history = history_of(value)
        if history.storage.device is like.storage.device or history._requires_grad:
            return history
        return constant(history.array, like.storage.device)  # zeros, made without a device
    if isinstance(value, np.ndarray):
        return constant(value, like.storage.device)
    return value.item() if isinstance(value, np.generic) else value


def constant(array: Array, device: Device = CPU) -> Any:
    """A tensor of numbers that nothing is differentiated by."""
    return base.new(TensorBase.plain, array, device)


def like_of(values: Sequence[Any]) -> TensorBase:
    """The tensor of the first array that remembers one; rather one on an accelerator."""
    found = [history_of(each) for each in values if isinstance(each, RecordingArray)]
    return next((each for each in found if each.storage.device is not CPU), found[0])


def _as_large(value: Any, like: Any) -> Any:
    """`value`, broadcast to the shape of `like` and in its type."""
    if not isinstance(value, TensorBase):
        return constant(np.full(like.shape, value, like.array.dtype), like.storage.device)
    return value.to(like.dtype).expand(like.shape)  # type: ignore[attr-defined]


def _index(key: Any) -> Any:
    """An index for a tensor: arrays of places become tensors."""
    if isinstance(key, tuple):
        return tuple(_index(each) for each in key)
    return constant(key) if isinstance(key, np.ndarray) else key
