"""From one layout of an activation to another, with gradients: the messages of tensor parallelism.

    has          wants        forward          backward
    Replicate    Replicate    nothing          all_reduce (each rank has seen a part of the loss's ways)
    Replicate    Shard(d)     take one's part  all_gather
    Shard(d)     Replicate    all_gather       take one's part; reduce_scatter into a cut layer
    Partial      Replicate    all_reduce       nothing
    Partial      Shard(d)     reduce_scatter   all_gather

The first row holds where a copied activation goes into a layer that is cut. Shoeybi et al. 2019
(arXiv:1909.08053) call the first and the fourth f and g. A layer cut by columns and one cut by rows need
one all_reduce forward and one backward.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from minitorch_dist.autograd.function import Function, once_differentiable
from minitorch_dist.distributed.groups import ProcessGroup
from minitorch_dist.distributed.tensor.dtensor import joined, part, summed
from minitorch_dist.distributed.tensor.placements import Placement, Shard, cut
from minitorch_dist.distributed.torch_api import tensor_collectives
from minitorch_dist.tensors.core import base
from minitorch_dist.tensors.core.base import Array
from minitorch_dist.tensors.ops.elementwise.copying import row_major
from minitorch_dist.tensors.tensor import Tensor


class _Move(Function):
    """One array to another by `there`, gradients by `back`."""

    @staticmethod
    def forward(ctx: Any, there: Any, back: Any, tensor: Tensor) -> Tensor:
        ctx.back = back
        return base.new(Tensor, there(tensor.array), tensor.device)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad: Tensor) -> Any:
        return None, None, base.new(Tensor, ctx.back(grad.array), grad.device)


def convert(tensor: Tensor, has: Placement, wants: Placement, group: ProcessGroup) -> Tensor:
    """The activation in the layout that is wanted; see the table. A gradient goes the same way back."""
    if has == wants:
        return _Move.apply(_same, _same, tensor)  # type: ignore[no-any-return]
    if wants.is_partial():
        raise ValueError(f"an activation cannot go from {has} to {wants}")
    shape = tensor.array.shape
    own = _total(shape[has.dim], group) if isinstance(has, Shard) else 0
    other = shape[wants.dim] if isinstance(wants, Shard) else 0

    def there(a: Array) -> Array:
        if has.is_partial() and isinstance(wants, Shard):
            return _sum_part(a, wants.dim, group)
        return _cut(summed(a, group) if has.is_partial() else _whole(a, has, own, group), wants, group)

    def back(g: Array) -> Array:
        return _cut(_whole(g, wants, other, group), has, group)

    return _Move.apply(there, back, tensor)  # type: ignore[no-any-return]


def enter(tensor: Tensor, group: ProcessGroup, has: Placement | None = None, whole: int | None = None) -> Tensor:
    """An activation goes whole into a layer that is cut: gradients come back in summands. `whole`: how long the
    dimension is in all that was cut; else the ranks ask each other."""
    if isinstance(has, Shard):
        dim = has.dim
        length = _total(tensor.array.shape[dim], group) if whole is None else whole
        return _Move.apply(  # type: ignore[no-any-return]
            lambda a: joined(a, dim, length, group), lambda g: _sum_part(g, dim, group), tensor
        )
    return _Move.apply(_same, lambda g: summed(g, group), tensor)  # type: ignore[no-any-return]


def _whole(array: Array, lies: Placement, length: int, group: ProcessGroup) -> Array:
    return joined(array, lies.dim, length, group) if isinstance(lies, Shard) else array


def _cut(array: Array, lies: Placement, group: ProcessGroup) -> Array:
    return row_major(part(array, lies.dim, group.size(), group.rank())) if isinstance(lies, Shard) else array


def _same(array: Array) -> Array:
    return array


def _sum_part(array: Array, dim: int, group: ProcessGroup) -> Array:
    """This rank's part of the sum: reduce_scatter, of rows padded to equal parts."""
    rows = np.moveaxis(array, dim, 0)
    count, length = group.size(), len(rows)
    size = -(-length // count) if length else 0
    sent = np.zeros((count * size, *rows.shape[1:]), array.dtype, like=array)
    sent[:length] = rows
    got = np.empty((size, *rows.shape[1:]), array.dtype, like=array)
    tensor_collectives.reduce_scatter_tensor(base.new(Tensor, got), base.new(Tensor, sent), group=group)
    start, stop = cut(length, count, group.rank())
    return row_major(np.moveaxis(got[: stop - start], 0, dim))


def _total(mine: int, group: ProcessGroup) -> int:
    """How long a dimension is in all, from everybody's part of it."""
    counted = np.array([mine])
    tensor_collectives.all_reduce(base.new(Tensor, counted), group=group)
    return int(counted[0])
