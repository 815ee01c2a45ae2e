"""Parts of a tensor, as views: slices, splits, diagonals, sliding windows: those that are rarely used."""

from __future__ import annotations

from typing import Any

from minitorch_dist.tensors.core.base import T
from minitorch_dist.tensors.core.graph import record
from minitorch_dist.tensors.names import also_called
from minitorch_dist.tensors.ops.shapes.pieces import narrow, tensor_split


def narrow_copy(input: T, dim: int, start: int, length: int) -> T:
    """`narrow`, as a copy."""
    seen = narrow(input, dim, start, length)
    widen = None if seen._grad_fn is None else seen._grad_fn.vjps[0]
    return record(seen.array.copy(order="C"), "NarrowCopyBackward0", (input, widen))


def _listed(first: Any, more: tuple[int, ...]) -> Any:
    """The indices of `x.hsplit(1, 2)` as those of `x.hsplit([1, 2])`."""
    return [first, *more] if more else first


@also_called(sections="indices_or_sections", indices="indices_or_sections")
def hsplit(input: T, indices_or_sections: Any, *more: int) -> tuple[T, ...]:
    """Pieces along the second dimension (the first of a vector)."""
    return _split_along(
        input, _listed(indices_or_sections, more), "hsplit", 1, 0 if input.array.ndim == 1 else 1
    )


@also_called(sections="indices_or_sections", indices="indices_or_sections")
def vsplit(input: T, indices_or_sections: Any, *more: int) -> tuple[T, ...]:
    """Pieces along the first dimension."""
    return _split_along(input, _listed(indices_or_sections, more), "vsplit", 2, 0)


@also_called(sections="indices_or_sections", indices="indices_or_sections")
def dsplit(input: T, indices_or_sections: Any, *more: int) -> tuple[T, ...]:
    """Pieces along the third dimension."""
    return _split_along(input, _listed(indices_or_sections, more), "dsplit", 3, 2)


def _split_along(input: T, where: Any, name: str, needs: int, dim: int) -> tuple[T, ...]:
    shape = input.array.shape
    if len(shape) < needs:
        raise RuntimeError(
            f"torch.{name} requires a tensor with at least {needs} dimension"
            f"{'s' if needs > 1 else ''}, but got a tensor with {len(shape)} dimensions!"
        )
    if isinstance(where, int) and (where <= 0 or shape[dim] % where):
        raise RuntimeError(
            f"torch.{name} attempted to split along dimension {dim}, but the size of the dimension "
            f"{shape[dim]} is not divisible by the split_size {where}!"
        )
    return tensor_split(input, where, dim)
