"""Operators of DTensors: each rank computes with its part, and the placements say what the result is.

    Shard(0) + Shard(0)          Shard(0)          the parts fit
    2 * Partial()                Partial()         a sum of doubles is a double sum
    Shard(0) * Replicate()       Shard(0)          the second is cut first
    Shard(0).sum()               Partial()         each rank has a summand
    Shard(0) @ Replicate()       Shard(0)
    Shard(1) @ Shard(0)          Partial()         columns meet rows

Where no rule fits, operands are put together first. A move forward is a move back for gradients. Beside an
operand that is cut, a whole one gets a summand of its gradient on each rank; `_entering` adds them up.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from typing import Any

from minitorch_dist.distributed.tensor.dtensor import DTensor, moved, placed
from minitorch_dist.distributed.tensor.part import here
from minitorch_dist.distributed.tensor.placements import Partial, Placement, Replicate, Shard
from minitorch_dist.tensors.core import grad_mode
from minitorch_dist.tensors.core.base import TensorBase
from minitorch_dist.tensors.core.graph import record
from minitorch_dist.tensors.ops.elementwise.copying import row_major
from minitorch_dist.tensors.tensor import Tensor

Operation = Callable[..., Any]
SUMS = (operator.add, operator.sub)
SUM = Partial()


def local(tensor: DTensor) -> Tensor:
    """This rank's part, ready to be computed with."""
    if (
        tensor.requires_grad
        and not tensor.is_recorded()
        and grad_mode.current_mode() == grad_mode.ON
    ):
        raise NotImplementedError(
            "a parameter of fully_shard records no gradient outside of its module's forward: compute with it in "
            "forward, or under no_grad()"
        )
    return here(tensor)


def _operands(*given: Any) -> list[Any]:
    """Numbers, and DTensors of one mesh. A plain tensor with dimensions has no place among them."""
    mesh = next(each.device_mesh for each in given if isinstance(each, DTensor))
    found: list[Any] = []
    for each in given:
        if isinstance(each, DTensor):
            if each.device_mesh != mesh:
                raise RuntimeError(
                    f"DTensors of two meshes do not meet: {mesh!r} and {each.device_mesh!r}. Take full_tensor() of one"
                )
            local(each)  # which says whether it may be computed with
        elif isinstance(each, TensorBase):
            if each.array.ndim:
                raise RuntimeError(
                    "got mixed torch.Tensor and DTensor, need to convert all torch.Tensor to DTensor before calling "
                    "distributed operators! (distribute_tensor does it; DTensor.to_local() is this rank's part)"
                )
            each = DTensor.from_local(each, mesh)  # type: ignore[arg-type]
        found.append(each)
    return found


def _lying(tensor: DTensor, placements: Sequence[Placement]) -> DTensor:
    same = tuple(placements) == tensor.placements
    return tensor if same else tensor.redistribute(placements=placements)


def _whole(tensor: DTensor) -> DTensor:
    return _lying(tensor, [Replicate()] * tensor.device_mesh.ndim)


def _without_summands(tensor: DTensor) -> DTensor:
    return _lying(tensor, [Replicate() if p.is_partial() else p for p in tensor.placements])


def unary(operation: Operation, tensor: DTensor, linear: bool = False) -> DTensor:
    """operation(tensor), element by element. A `linear` one may be taken of summands."""
    (tensor,) = _operands(tensor)
    if not (linear and _sums(tensor)):
        tensor = _without_summands(tensor)
    result = operation(local(tensor))
    return placed(result, tensor.device_mesh, tensor.placements, tensor.shape)


def _sums(*tensors: DTensor) -> bool:
    """Whether nothing among the parts is to be multiplied, or compared."""
    kinds = [p for tensor in tensors for p in tensor.placements if isinstance(p, Partial)]
    return all(p.reduce_op in ("sum", "avg") for p in kinds)


def elementwise(operation: Operation, x: Any, y: Any) -> Any:
    """`operation(x, y)`, element by element; one of both may be a number."""
    for each in (x, y):
        if not isinstance(each, (int, float, complex, TensorBase)):
            return NotImplemented
    x, y = _operands(x, y)
    if not isinstance(y, DTensor):
        return unary(lambda own: operation(own, y), x, operation in (operator.mul, operator.truediv))  # fmt: skip
    if not isinstance(x, DTensor):
        return unary(lambda own: operation(x, own), y, operation is operator.mul)
    summands = all(p == SUM for p in (*x.placements, *y.placements))
    if not (operation in SUMS and summands and x.shape == y.shape):
        x, y = _without_summands(x), _without_summands(y)
    if x.shape != y.shape:
        x, y = _whole(x), _whole(y)
    elif x.placements != y.placements:
        lying = x.placements if any(p.is_shard() for p in x.placements) else y.placements
        x, y = _lying(x, lying), _lying(y, lying)
    result = operation(local(x), local(y))
    shape = x.shape if x.shape == y.shape else result.shape
    return placed(result, x.device_mesh, x.placements, shape)


def total(tensor: DTensor, dim: Any = None, keepdim: bool = False, *, dtype: Any = None) -> DTensor:
    """The sum over some dimensions: a summand on each rank, where one of these was cut."""
    (tensor,) = _operands(tensor)
    if any(isinstance(p, Partial) and p != SUM for p in tensor.placements):
        tensor = _without_summands(tensor)
    sizes, ndim = tensor.shape, tensor.ndim
    over = range(ndim) if dim is None or dim == () else (dim,) if isinstance(dim, int) else dim
    gone = {n % max(ndim, 1) for n in over}
    kept = [n for n in range(ndim) if n not in gone]
    placements: list[Placement] = []
    for placement in tensor.placements:
        if isinstance(placement, Shard) and placement.dim % ndim in gone:
            placement = SUM
        elif isinstance(placement, Shard) and not keepdim:
            placement = type(placement)(kept.index(placement.dim % ndim))
        placements.append(placement)
    own = local(tensor)
    result = own.sum(tuple(gone), keepdim, dtype=dtype) if ndim else own.sum(dtype=dtype)
    shape = [1 if n in gone else sizes[n] for n in range(ndim) if keepdim or n not in gone]
    return placed(result, tensor.device_mesh, placements, shape)


def mean(tensor: DTensor, dim: Any = None, keepdim: bool = False, *, dtype: Any = None) -> Any:
    """The mean over some dimensions, in summands where `total` has them."""
    found = total(tensor, dim, keepdim, dtype=dtype)
    if not found.dtype.is_floating_point and not found.dtype.is_complex:
        raise RuntimeError(
            "mean(): could not infer output dtype. Input dtype must be either a floating point or complex dtype. "
            f"Got: {tensor.dtype}"
        )
    return elementwise(operator.truediv, found, tensor.numel() / max(found.numel(), 1))


def product(x: Any, y: Any) -> Any:
    """x @ y for a matrix y: along each axis of the mesh by itself."""
    x, y = _operands(x, y)
    if not (isinstance(x, DTensor) and isinstance(y, DTensor) and x.ndim >= 2 and y.ndim == 2):
        shapes = " and ".join(str(tuple(getattr(each, "shape", ()))) for each in (x, y))
        raise NotImplementedError(
            f"products of DTensors are offered for a matrix on the right, not for shapes {shapes}: take "
            "full_tensor() or to_local() of both"
        )
    x, y = _without_summands(x), _without_summands(y)
    last = x.ndim - 1
    made: list[Placement] = []
    left, right = list(x.placements), list(y.placements)
    adds_left, adds_right = [], []  # axes along which a whole operand meets a cut one
    for axis in range(x.device_mesh.ndim):
        a, b = left[axis], right[axis]
        if type(a) is Shard and a.dim % x.ndim != last and b.is_replicate():
            made.append(Shard(a.dim % x.ndim))
            adds_right.append(axis)
        elif a.is_replicate() and type(b) is Shard and b.dim % 2 == 1:
            made.append(Shard(last))
            adds_left.append(axis)
        elif type(a) is Shard and a.dim % x.ndim == last and type(b) is Shard and b.dim % 2 == 0:
            made.append(SUM)
        else:
            left[axis], right[axis] = Replicate(), Replicate()
            made.append(Replicate())
    x, y = _lying(x, left), _lying(y, right)
    result = _entering(x, adds_left) @ _entering(y, adds_right)
    return placed(result, x.device_mesh, made, (*x.shape[:-1], y.shape[1]))


def _entering(tensor: DTensor, axes: Sequence[int]) -> Tensor:
    """This rank's part; the gradients that come back are added up along these axes of the mesh."""
    own, mesh = local(tensor), tensor.device_mesh
    if not axes or not own.requires_grad:
        return own
    came = [SUM if axis in axes else p for axis, p in enumerate(tensor.placements)]
    shape, lying = tuple(tensor.shape), tensor.placements
    return record(
        own.array,
        "RedistributeBackward0",
        (own, lambda g: moved(row_major(g), shape, mesh, came, lying)),
    )
