"""Other dtypes and other devices: `to` and its short forms."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias, overload

from minitorch_dist.tensors import devices, dtypes, ledger
from minitorch_dist.tensors.core import grad_mode, graph, observers
from minitorch_dist.tensors.core.base import Storage, T, TensorBase, bare
from minitorch_dist.tensors.core.graph import KINDS
from minitorch_dist.tensors.dtypes import type_name
from minitorch_dist.tensors.ops.elementwise.copying import no_data as no_data
from minitorch_dist.tensors.promotion import converted
from minitorch_dist.tensors.shape_arrays.mode import empty_on

Device: TypeAlias = "devices.device | str | int | None"


def to(input: T, *args: Any, **kwargs: Any) -> T:
    """The tensor as another dtype, on another device, or as another tensor; the same one if nothing changes.

    Args:
        input: The tensor itself.
        *args: A dtype, a device, both, or another tensor.
        **kwargs: `dtype`, `device`, `non_blocking` and `copy`.

    Returns:
        The tensor.

    Example:
        >>> torch.ones(1).to(torch.float64).dtype
        torch.float64
    """
    dtype, device, copy = wanted(*args, **kwargs)
    place = input.storage.device if device is None else devices.resolve(device)
    return move(input, dtype or input.dtype, place, copy)


def wanted(
    *args: Any,
    dtype: dtypes.dtype | None = None,
    device: Device = None,
    non_blocking: bool = False,
    copy: bool = False,
    memory_format: Any = None,
) -> tuple[dtypes.dtype | None, Device, bool]:
    """The dtype and the device that the arguments of `to` name, and whether a copy is asked for."""
    first, *rest = args or (None,)
    if isinstance(first, TensorBase):
        dtype, device = first.dtype, first.storage.device
    elif isinstance(first, dtypes.dtype):
        dtype = first
    elif args:
        device = first
        if rest and (rest[0] is None or isinstance(rest[0], dtypes.dtype)):
            dtype = rest.pop(0)
    if len(rest) > 2 or not all(isinstance(flag, bool) for flag in rest):
        raise TypeError(f"to() takes a dtype, a device, both, or a tensor, and then two bools, but got {args}")
    return dtype, device, rest[1] if len(rest) > 1 else copy


def move(input: T, dtype: dtypes.dtype, device: devices.device, copy: bool = False) -> T:
    """The conversion itself: recorded, so that the gradient comes back in the old form."""
    x, home = input.array, input.storage.device
    if not copy and dtype.numpy == x.dtype and device is home:
        return input
    if home is devices.META and device is not home:
        raise no_data()
    if device is devices.META:
        array = empty_on(device, x, dtype.numpy)
    else:
        array = x.copy(order="K") if dtype.numpy == x.dtype else converted(x, dtype)
    out: T = bare(input.plain, array, Storage(array, device))
    if observers.operations:
        observers.operated("ToCopyBackward0", (x,), (array,))
    mode = grad_mode.mode.get()
    if input._base is not None:
        graph.refresh(input)
    if input._requires_grad and dtype.category >= dtypes.FLOATING and mode == grad_mode.ON:
        source, name, edge = input.dtype, "ToCopyBackward0", graph.edge_of(input)
        vjps = (lambda g: converted(g, source) if g.dtype != source.numpy or device is not home else g,)
        # The node's device is where its gradient goes: back home.
        out._grad_fn, out._requires_grad = KINDS[name](name, (edge,), home, vjps), True
        if device is not devices.CPU:
            ledger.retag(array, device, "activation", only="other")
    elif mode == grad_mode.INFERENCE:
        out._inference = True
    return out


def cuda(input: T, device: Device = None, non_blocking: bool = False, memory_format: Any = None) -> T:
    """`input` on a simulated device (by default the current one)."""
    target = devices.resolve("cuda" if device is None else devices.device(device))
    if target.type != "cuda":
        raise RuntimeError(f"Invalid device, must be cuda device, got '{target}'; use to() or cpu()")
    return move(input, input.dtype, target)


def cpu(input: T, memory_format: Any = None) -> T:
    """`input` in host memory."""
    return move(input, input.dtype, devices.CPU)


def pin_memory(input: T, device: Device = None) -> T:
    """`input`: page-locked memory speeds up copies to a GPU, and there is none."""
    if input.storage.device.type != "cpu":
        raise RuntimeError(f"only dense CPU tensors can be pinned, and this one is on {input.storage.device}")
    return input


def is_pinned(input: TensorBase, device: Device = None) -> bool:
    return False


def _as(dtype: dtypes.dtype, name: str) -> Callable[[T], T]:
    """The short form that converts to one dtype: `x.float()`."""

    def short_form(input: T, memory_format: Any = None) -> T:
        return move(input, dtype, input.storage.device)

    short_form.__name__ = short_form.__qualname__ = name
    short_form.__doc__ = f"`to({dtype})`"
    return short_form


half = _as(dtypes.float16, "half")
bfloat16 = _as(dtypes.bfloat16, "bfloat16")
float_ = _as(dtypes.float32, "float")
double = _as(dtypes.float64, "double")
byte = _as(dtypes.uint8, "byte")
char = _as(dtypes.int8, "char")
short = _as(dtypes.int16, "short")
int_ = _as(dtypes.int32, "int")
long = _as(dtypes.int64, "long")
bool_ = _as(dtypes.bool_, "bool")


def type_as(input: T, other: TensorBase) -> T:
    """With the dtype, and on the device, of `other`."""
    return move(input, other.dtype, other.storage.device)


@overload
def type_(input: TensorBase, dtype: None = None, non_blocking: bool = False) -> str: ...
@overload
def type_(input: T, dtype: Any, non_blocking: bool = False) -> T: ...
def type_(input: T, dtype: Any = None, non_blocking: bool = False) -> str | T:
    """The legacy name of the tensor's type, or the tensor as `dtype`."""
    if dtype is not None:
        return move(input, dtype, input.storage.device)
    place = input.storage.device.type
    return ("torch." if place == "cpu" else f"torch.{place}.") + type_name(input.array)[6:]


def is_tensor(obj: object) -> bool:
    """Whether `obj` is a tensor."""
    return isinstance(obj, TensorBase)
