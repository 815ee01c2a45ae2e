"""How a tensor lies in memory: sizes, strides, bytes. Nothing here is recorded: those that are rarely used."""

from __future__ import annotations

from typing import Any

from minitorch_dist.tensors.core.base import TensorBase
from minitorch_dist.tensors.ops.shapes.layout import address, stride


def is_contiguous(input: TensorBase, memory_format: Any = None) -> bool:
    """Whether the elements follow each other row by row (or channel by channel, if asked)."""
    x = input.array
    if str(memory_format) == "torch.channels_last" and x.ndim == 4:
        return bool(x.transpose(0, 2, 3, 1).flags.c_contiguous)
    return bool(x.flags.c_contiguous)


def is_same_size(input: TensorBase, other: TensorBase) -> bool:
    """Whether both have the same shape."""
    return bool(input.shape == other.shape)  # type: ignore[attr-defined]


def is_set_to(input: TensorBase, tensor: TensorBase) -> bool:
    """Whether both look at the same elements in the same way."""
    a, b = input.array, tensor.array
    return address(input) == address(tensor) and a.shape == b.shape and a.strides == b.strides


def dim_order(input: TensorBase) -> tuple[int, ...]:
    """The dimensions from the slowest to the fastest in memory."""
    steps = stride(input)
    return tuple(sorted(range(len(steps)), key=lambda place: -steps[place]))


def get_device(input: TensorBase) -> int:
    """The index of the simulated accelerator this tensor is on; -1 on the CPU."""
    index = input.storage.device.index
    return -1 if index is None else index
