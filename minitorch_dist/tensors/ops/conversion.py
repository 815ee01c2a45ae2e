"""Other dtypes and other devices: `to` and its short forms."""

from __future__ import annotations

from typing import Any, TypeAlias

from minitorch_dist.tensors import devices, dtypes, grad_mode, graph, ledger
from minitorch_dist.tensors.base import T, TensorBase
from minitorch_dist.tensors.nodes import kind, type_name
from minitorch_dist.tensors.ops.copying import convert
from minitorch_dist.tensors.storage import Storage

Device: TypeAlias = "devices.device | str | int | None"


def to(self: T, *args: Any, **kwargs: Any) -> T:
    """`self` as another dtype, on another device, or as another tensor; `self` if nothing changes.

    to(dtype), to(device), to(device, dtype), to(other), each with non_blocking and copy.
    """
    dtype, device = kwargs.pop("dtype", None), kwargs.pop("device", None)
    other = kwargs.pop("other", None)
    rest: list[Any] = list(args)
    first = rest.pop(0) if rest else None
    if isinstance(first, TensorBase):
        other = first
    elif isinstance(first, dtypes.dtype):
        dtype = first
    elif args:
        device = first
        if rest and (rest[0] is None or isinstance(rest[0], dtypes.dtype)):
            dtype = rest.pop(0)
    flags = dict(zip(("non_blocking", "copy"), rest, strict=False)) | kwargs
    copy = flags.pop("copy", False)
    flags.pop("non_blocking", False)
    flags.pop("memory_format", None)
    if flags or len(rest) > 2 or not all(isinstance(flag, bool) for flag in rest):
        given = ", ".join([type(a).__name__ for a in args] + [f"{k}=" for k in kwargs])
        raise TypeError(f"to() received an invalid combination of arguments - got ({given})")
    if other is not None:
        dtype, device = other.dtype, other.storage.device
    target = self.storage.device if device is None else devices.resolve(device)
    return move(self, dtype or self.dtype, target, copy)


def move(self: T, dtype: dtypes.dtype, device: devices.device, copy: bool = False) -> T:
    """The conversion itself: recorded, so that the gradient comes back in the old form."""
    x, home = self.array, self.storage.device
    if not copy and dtype.numpy == x.dtype and device is home:
        return self
    out: T = object.__new__(self.plain)
    out.array = array = x.copy(order="K") if dtype.numpy == x.dtype else convert(x, dtype)
    out.storage = Storage(array, device)
    mode = grad_mode.mode.get()
    if self._base is not None:
        graph.refresh(self)
    if self._requires_grad and dtype.is_floating_point and mode == grad_mode.ON:
        node = kind("ToCopyBackward0")("ToCopyBackward0", (graph.edge_of(self),))
        source = x.dtype
        node.vjps = (lambda g: g.astype(source, copy=device is not home),)
        node.device = home  # the gradient is born where it goes: back home
        out._grad_fn, out._requires_grad = node, True
        if device is not devices.CPU:
            ledger.retag(array, device, "activation", only="other")
    elif mode == grad_mode.INFERENCE:
        out._inference = True
    return out


def cuda(
    self: T, device: Device = None, non_blocking: bool = False, memory_format: Any = None
) -> T:
    """`self` on a simulated device (by default the current one)."""
    target = devices.resolve("cuda" if device is None else devices.device(device))
    if target.type != "cuda":
        raise RuntimeError(
            f"Invalid device, must be cuda device, got '{target}'; use to() or cpu()"
        )
    return move(self, self.dtype, target)


def cpu(self: T, memory_format: Any = None) -> T:
    """`self` in host memory."""
    return move(self, self.dtype, devices.CPU)


def pin_memory(self: T, device: Device = None) -> T:
    """`self`: page-locked memory speeds up copies to a GPU, and there is none."""
    if self.storage.device is not devices.CPU:
        raise RuntimeError(
            f"cannot pin 'torch.cuda.{type_name(self.array)[6:]}' only dense CPU tensors can be pinned"
        )
    return self


def is_pinned(self: TensorBase, device: Device = None) -> bool:
    return False
