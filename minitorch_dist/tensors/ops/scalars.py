"""From a tensor to plain Python: numbers, lists, truth."""

from __future__ import annotations

import operator
from collections.abc import Iterator
from typing import Any

from minitorch_dist.tensors.base import T, TensorBase
from minitorch_dist.tensors.ops.pieces import unbind


def item(self: TensorBase) -> Any:
    """The one element, as a Python number."""
    x = self.array
    if x.size != 1:
        raise RuntimeError(f"a Tensor with {x.size} elements cannot be converted to Scalar")
    value = x.item()
    return value if type(value) in (float, int, bool) else float(value)  # bfloat16 has no item


def tolist(self: TensorBase) -> Any:
    """Nested lists of Python numbers; a 0-dim tensor gives its number."""
    x = self.array
    return (x if x.dtype.kind in "fiub" else x.astype("float32")).tolist()


def _single(self: TensorBase) -> Any:
    if self.array.size != 1:
        raise ValueError("only one element tensors can be converted to Python scalars")
    return item(self)


def as_float(self: TensorBase) -> float:
    return float(_single(self))


def as_int(self: TensorBase) -> int:
    return int(_single(self))


def as_index(self: TensorBase) -> int:
    if self.array.size != 1 or self.array.dtype.kind not in "iub":
        raise TypeError("only integer tensors of a single element can be converted to an index")
    return operator.index(item(self))


def truth(self: TensorBase) -> bool:
    x = self.array
    if x.size != 1:
        values = "more than one value" if x.size else "no values"
        raise RuntimeError(f"Boolean value of Tensor with {values} is ambiguous")
    return bool(x.any())


def iterate(self: T) -> Iterator[T]:
    if not self.array.ndim:
        raise TypeError("iteration over a 0-d tensor")
    return iter(unbind(self, 0))


def contains(self: TensorBase, element: Any) -> bool:
    """Whether some element equals `element`, a number or a tensor that broadcasts."""
    if isinstance(element, TensorBase):
        element = element.array
    elif not isinstance(element, (int, float)):
        raise RuntimeError(
            f"Tensor.__contains__ only supports Tensor or scalar, but you passed in a "
            f"{type(element)}."
        )
    return bool((self.array == element).any())
