"""From a tensor to plain Python: numbers, lists, truth."""

from __future__ import annotations

import operator
from collections.abc import Iterator
from typing import Any

from minitorch_dist.tensors import devices
from minitorch_dist.tensors.core import observers
from minitorch_dist.tensors.core.base import T, TensorBase
from minitorch_dist.tensors.core.graph import result
from minitorch_dist.tensors.ops.elementwise.conversion import no_data
from minitorch_dist.tensors.ops.shapes.pieces import unbind


def item(input: TensorBase) -> int | float:
    """The one element, as a Python number.

    Args:
        input: The tensor itself.

    Returns:
        A float, int or bool; of a complex tensor a complex number, as in torch, whose types do not say so.

    Raises:
        RuntimeError: It has another number of elements.

    Example:
        >>> torch.tensor([2.5]).item()
        2.5
    """
    x = input.array
    if x.size != 1:
        raise RuntimeError(f"a Tensor with {x.size} elements cannot be converted to Scalar")
    if input.storage.device is devices.META:
        raise RuntimeError("Tensor.item() cannot be called on meta tensors")
    if observers.operations:
        observers.operated("item", (x,), ())
    value = x.item()
    return value if type(value) in (float, int, bool, complex) else float(value)  # bfloat16 has none


def tolist(input: TensorBase) -> list[Any]:
    """Nested lists of Python numbers; a 0-dim tensor gives its number."""
    x = input.array
    if input.storage.device is devices.META:
        raise no_data()
    if observers.operations:
        observers.operated("tolist", (x,), ())
    return (x if x.dtype.kind in "fiubc" else x.astype("float32")).tolist()  # type: ignore[no-any-return]


def _single(input: TensorBase) -> Any:
    if input.array.size != 1:
        raise ValueError("only one element tensors can be converted to Python scalars")
    return item(input)


def as_float(input: TensorBase) -> float:
    return float(_single(input))


def as_int(input: TensorBase) -> int:
    return int(_single(input))


def as_index(input: TensorBase) -> int:
    if input.array.size != 1 or input.array.dtype.kind not in "iub":
        raise TypeError("only integer tensors of a single element can be converted to an index")
    return operator.index(_single(input))


def truth(input: TensorBase) -> bool:
    x = input.array
    if x.size != 1:
        values = "more than one value" if x.size else "no values"
        raise RuntimeError(f"Boolean value of Tensor with {values} is ambiguous")
    return bool(item(input))


def iterate(input: T) -> Iterator[T]:
    if not input.array.ndim:
        raise TypeError("iteration over a 0-d tensor")
    return iter(unbind(input, 0))


def contains(input: TensorBase, element: Any) -> bool:
    """Whether some element equals `element`, a number or a tensor that broadcasts."""
    if isinstance(element, TensorBase):
        element = element.array
    found = (input.array == element).any()
    return bool(item(result(input, found)))
