"""Into which bin a value falls, what is not zero, and distinct values."""

from __future__ import annotations

from typing import Any, Literal, overload

import numpy as np

from minitorch_dist.tensors import dtypes
from minitorch_dist.tensors.core.base import Array, T, TensorBase
from minitorch_dist.tensors.core.graph import record, result, same_device
from minitorch_dist.tensors.core.operations import axis
from minitorch_dist.tensors.promotion import demand_order

# ---------------------------------------------------------------------------------------------- bins


def searchsorted(
    sorted_sequence: TensorBase, input: Any, *, out_int32: bool = False, right: bool = False, side: str | None = None
) -> Any:
    """Where each value of `input` would have to be inserted; row by row if there are several."""
    if isinstance(input, TensorBase):
        same_device(sorted_sequence, input)
    edges = sorted_sequence.array
    demand_order("searchsorted_out_cpu", edges)
    if not edges.ndim:
        raise RuntimeError("torch.searchsorted(): boundaries need at least one dimension")
    values = input.array if isinstance(input, TensorBase) else np.asanyarray(input)
    where: Literal["left", "right"] = "right" if right or side == "right" else "left"
    edges, values = (v.astype(np.float32) if v.dtype in dtypes.HALVES else v for v in (edges, values))
    if edges.ndim == 1:
        found = np.asanyarray(np.searchsorted(edges, values, where))
    elif edges.shape[:-1] != values.shape[:-1]:
        raise RuntimeError(f"searchsorted: the rows of {list(edges.shape)} and {list(values.shape)} do not match")
    else:
        found = np.empty(values.shape, np.int64, like=values)
        for row in np.ndindex(edges.shape[:-1]):
            found[row] = np.searchsorted(edges[row], values[row], where)
    return result(sorted_sequence, found.astype(np.int32 if out_int32 else np.int64, copy=False))


# ------------------------------------------------------------------------------------ what is not zero


@overload
def nonzero(input: T, *, as_tuple: Literal[False] = False) -> T: ...
@overload
def nonzero(input: T, *, as_tuple: Literal[True]) -> tuple[T, ...]: ...
def nonzero(input: T, *, as_tuple: bool = False) -> T | tuple[T, ...]:
    """The indices of the elements that are not zero: one row each, or one vector per axis."""
    x = input.array
    if as_tuple:
        return tuple(result(input, i) for i in np.nonzero(np.atleast_1d(x)))
    return argwhere(input)


def argwhere(input: T) -> T:
    """The indices of the elements that are not zero, one row each."""
    x = input.array
    if not x.ndim:
        return result(input, np.empty((int(x != 0), 0), np.int64))
    return result(input, np.stack(np.nonzero(x), 1))


# ------------------------------------------------------------------------------------ distinct values


def _no_gradient(g: Array) -> Array:
    raise RuntimeError("the derivative for 'unique' is not implemented.")


@overload
def unique(
    input: T,
    sorted: bool = True,
    return_inverse: Literal[False] = False,
    return_counts: Literal[False] = False,
    dim: int | None = None,
) -> T: ...
@overload
def unique(
    input: T, sorted: bool = True, return_inverse: bool = False, return_counts: bool = False, dim: int | None = None
) -> Any: ...
def unique(
    input: T, sorted: bool = True, return_inverse: bool = False, return_counts: bool = False, dim: int | None = None
) -> Any:
    """The distinct elements (with `dim`: slices) in order. Every NaN is distinct."""
    x = input.array
    demand_order("unique", x)
    along = None if dim is None else axis(dim, x.ndim)
    wide = x.astype(np.float32) if x.dtype in dtypes.HALVES else x
    values, inverse, counts = np.unique(wide, return_inverse=True, return_counts=True, axis=along, equal_nan=False)
    found: list[T] = [record(values.astype(x.dtype, copy=False), "Unique2Backward0", (input, _no_gradient))]
    if return_inverse:
        shape = x.shape if along is None else (x.shape[along],)
        found.append(result(input, inverse.reshape(shape)))
    if return_counts:
        found.append(result(input, counts))
    return tuple(found) if len(found) > 1 else found[0]
