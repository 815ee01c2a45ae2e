"""The same values again: copies, and the same memory without its history."""

from __future__ import annotations

from typing import Any

import numpy as np

from minitorch_dist.tensors import devices, dtypes, ledger
from minitorch_dist.tensors.autograd.overwriting import Change, overwrite
from minitorch_dist.tensors.core import base
from minitorch_dist.tensors.core.base import Array, T, TensorBase, bare
from minitorch_dist.tensors.core.graph import record
from minitorch_dist.tensors.core.operations import sum_to
from minitorch_dist.tensors.core.view_geometry import dense as dense
from minitorch_dist.tensors.promotion import converted


def _itself(grad: Array) -> Array:
    return grad


def row_major(x: Array) -> Array:
    """`x` if it lies row by row in memory, else a copy that does."""
    return x if x.flags.c_contiguous else x.copy(order="C")


def clone(input: T, *, memory_format: Any = None) -> T:
    """A copy that passes its gradient on."""
    order = "C" if str(memory_format) == "torch.contiguous_format" else "K"
    x = input.array
    out = dense(x) if order == "K" else x.copy(order="C")
    return record(out, "CloneBackward0", (input, _itself))


def contiguous(input: T, memory_format: Any = None) -> T:
    """`input` if it lies row by row in memory, else a copy that does."""
    x = input.array
    if x.flags.c_contiguous:
        return input
    return record(x.copy(order="C"), "CloneBackward0", (input, _itself))


def detach(input: T) -> T:
    """The same memory, outside of the graph. Writing to it counts as writing to `input`.

    Args:
        input: The tensor itself.

    Returns:
        A tensor that does not require grad.

    Example:
        >>> torch.ones(1, requires_grad=True).detach().requires_grad
        False
    """
    out: T = bare(input.plain, input.array, input.storage)
    out._inference = input._inference
    return out


def detach_(input: T) -> T:
    """Leave the graph: `input` becomes a leaf that requires no gradient."""
    if input._base is not None:
        raise RuntimeError("Can't detach views in-place (as gradients of DDP's buckets are): use detach() instead")
    input._grad_fn, input._output_nr, input._requires_grad = None, 0, False
    return input


def get_data(input: T) -> T:
    """`x.data`: the same memory outside of the graph, with a version counter of its own."""
    out: T = bare(input.plain, input.array, input.storage.alias())
    return out


def set_data(input: TensorBase, other: TensorBase) -> None:
    """`x.data = y`: from now on `x` looks at the memory of `y`; its place in the graph stays."""
    if not isinstance(other, TensorBase):
        raise TypeError(f"Variable data has to be a tensor, but got {type(other).__name__}")
    if input.requires_grad and other.array.dtype.kind in "iub":
        raise RuntimeError("data set to a tensor that requires gradients must be floating point or complex dtype")
    input.array = other.array
    version = input.storage.version
    input.storage = other.storage.alias()
    input.storage.version = version
    if input._accumulate is not None:
        input._accumulate.device = input.storage.device
    if input.storage.device is not devices.CPU:
        ledger.retag(input.array, input.storage.device, input.held_as, only="other")


def copy_(input: T, other: Any, non_blocking: bool = False) -> T:
    """Write the values of `src` (broadcast, of any dtype, on any device) into `input`."""
    if not isinstance(other, TensorBase):
        if not isinstance(other, (int, float, complex)):
            raise TypeError(f"copy_(): argument 'other' (position 1) must be Tensor, not {type(other).__name__}")
        other = base.new(input.plain, np.array(other), input.storage.device)
    y = other.array
    if other.storage.device is devices.META and input.storage.device is not devices.META:
        raise no_data()
    shape, source = y.shape, other.dtype

    def to_source(grad: Array) -> Array:
        return sum_to(grad if grad.dtype is source.numpy else converted(grad, source), shape)

    change = Change("CopyBackwards", lambda x: fill(x, y), np.zeros_like, other, to_source, told=(y,))
    return overwrite(input, change)


def no_data() -> NotImplementedError:
    """torch's refusal to copy numbers from where there are none."""
    return NotImplementedError("Cannot copy out of meta tensor; no data!")


def fill(x: Array, y: Array) -> None:
    """`x[...] = y`, converted and broadcast."""
    try:
        if y.ndim > x.ndim:  # numpy would drop leading ones
            raise ValueError
        x[...] = y if y.dtype == x.dtype else converted(y, dtypes.FROM_NUMPY[x.dtype])
    except ValueError:
        raise RuntimeError(f"a tensor of shape {list(y.shape)} does not expand to {list(x.shape)}") from None
