"""Views of DTensors: each rank looks at its part in another way, and placements follow the dimensions.

    rows.T                Shard(0) becomes Shard(1)
    rows.unsqueeze(0)     Shard(0) becomes Shard(1)
    rows[:, 1:3]          Shard(0): nothing moves
    rows[1:3]             Replicate(): a cut dimension is put together before it is cut otherwise
    rows.view(5, 2, 3)    Shard(0), if the parts are whole rows of both shapes; else an error

All is one rule. Some dimensions are put together first; each other one has a place in the result (`where`). As in
torch, a view that was put together is a copy, so writing to it does not write to the tensor.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from math import prod
from typing import Any

import numpy as np

from minitorch_dist.distributed.tensor.arithmetic import local
from minitorch_dist.distributed.tensor.dtensor import DTensor, placed
from minitorch_dist.distributed.tensor.placements import Placement, Replicate, Shard
from minitorch_dist.tensors.core import base
from minitorch_dist.tensors.core.base import TensorBase
from minitorch_dist.tensors.tensor import Tensor

Where = Mapping[int, int]

TURNING = "T adjoint mT moveaxis movedim permute swapaxes swapdims t transpose"
CUTTING = "chunk narrow select split split_with_sizes tensor_split unbind"


def together(tensor: DTensor, dims: Collection[int]) -> DTensor:
    """The tensor with none of these dimensions cut. Collective, if one was."""
    lying: list[Placement] = [
        Replicate() if isinstance(p, Shard) and p.dim % tensor.ndim in dims else p
        for p in tensor.placements
    ]
    return tensor if tuple(lying) == tensor.placements else tensor.redistribute(placements=lying)


def follow(tensor: DTensor, result: Tensor, where: Where) -> DTensor:
    """A view of this rank's part as a DTensor: dimension d of `tensor` is dimension where[d] of the result."""
    placements, shape = list(tensor.placements), list(result.array.shape)
    for axis, placement in enumerate(placements):
        if isinstance(placement, Shard):
            dim = placement.dim % tensor.ndim
            placements[axis] = type(placement)(where[dim])
            shape[where[dim]] = tensor.shape[dim]
    return placed(result, tensor.device_mesh, placements, shape)


def without(ndim: int, gone: Collection[int]) -> Where:
    """Where dimensions go when some of them go away."""
    return {d: d - sum(each < d for each in gone) for d in range(ndim) if d not in gone}


def turned(name: str) -> Callable[..., DTensor]:
    """A view with its dimensions in another order; which, an empty tensor of sides 0, 1, 2, … tells."""

    def turn(self: DTensor, *args: Any, **options: Any) -> DTensor:
        def view(tensor: Tensor) -> Any:
            found = getattr(tensor, name)
            return found if name in ("T", "mT") else found(*args, **options)

        order = view(base.new(Tensor, np.empty(range(self.ndim)))).array.shape
        return follow(self, view(local(self)), {d: order.index(d) for d in range(self.ndim)})

    return turn


def cutting(name: str) -> Callable[..., Any]:
    """Pieces along one dimension, which is whole on each rank then."""
    function = getattr(Tensor, name)
    has_dim_first = name in ("narrow", "select", "unbind")

    def pieces(self: DTensor, *args: Any, **options: Any) -> Any:
        place = 0 if has_dim_first else 1
        dim = options.get("dim", args[place] if len(args) > place else 0) % max(self.ndim, 1)
        if name == "unbind" and any(
            p.is_shard(dim) or p.is_shard(dim - self.ndim) for p in self.placements
        ):
            self._refuse_part(f"unbind() along dimension {dim}, which is cut,")  # as in torch
        tensor = together(self, (dim,))
        where = without(self.ndim, (dim,) if name in ("select", "unbind") else ())
        found = function(local(tensor), *args, **options)
        if isinstance(found, TensorBase):
            return follow(tensor, found, where)  # type: ignore[arg-type]
        return tuple(follow(tensor, each, where) for each in found)

    return pieces


def getitem(self: DTensor, key: Any) -> DTensor:
    """Numbers, slices, None and `...`."""
    items = list(key) if isinstance(key, tuple) else [key]
    for each in items:
        if not (each is None or each is Ellipsis or isinstance(each, (int, np.integer, slice))) or (
            isinstance(each, bool)
        ):
            if isinstance(each, (list, TensorBase)) and not isinstance(each, DTensor):
                raise RuntimeError(
                    "an index of a DTensor got mixed torch.Tensor and DTensor: take full_tensor()[index], or "
                    "to_local()[index] for this rank's part"
                )
            self._refuse_part(f"an index of type {type(each).__name__}")
            return local(self)[key]  # type: ignore[return-value]
    taken = sum(each is not None and each is not Ellipsis for each in items)
    if Ellipsis not in items:
        items.append(Ellipsis)
    place = items.index(Ellipsis)
    items[place : place + 1] = [slice(None)] * (self.ndim - taken)
    where: dict[int, int] = {}
    changed, dim, out = set(), 0, 0
    for n, each in enumerate(items):
        if each is None:
            out += 1
            continue
        if dim < self.ndim and isinstance(each, slice):
            where[dim] = out
            if each.indices(self.shape[dim]) == (0, self.shape[dim], 1):
                items[n] = slice(None)
            else:
                changed.add(dim)
        else:
            changed.add(dim)
        out, dim = out + isinstance(each, slice), dim + 1
    tensor = together(self, changed)
    return follow(tensor, local(tensor)[tuple(items)], where)


def unsqueeze(self: DTensor, dim: int) -> DTensor:
    place = dim % (self.ndim + 1)
    where = {d: d + (d >= place) for d in range(self.ndim)}
    return follow(self, local(self).unsqueeze(dim), where)


def squeeze(self: DTensor, dim: Any = None) -> DTensor:
    asked = range(self.ndim) if dim is None else (dim,) if isinstance(dim, int) else dim
    gone = {d % self.ndim for d in asked if self.shape[d] == 1}
    tensor = together(self, gone)
    return follow(tensor, local(tensor).squeeze(tuple(sorted(gone))), without(self.ndim, gone))


def expand(self: DTensor, *size: Any) -> DTensor:
    sizes = list(_sizes(size))
    lead = len(sizes) - self.ndim
    grows = {d for d in range(self.ndim) if self.shape[d] == 1 and sizes[d + lead] not in (1, -1)}
    tensor = together(self, grows)
    for placement in tensor.placements:
        if isinstance(placement, Shard):
            dim = placement.dim % self.ndim
            if sizes[dim + lead] in (-1, self.shape[dim]):  # else the part says what is wrong
                sizes[dim + lead] = -1
    where = {d: d + lead for d in range(self.ndim)}
    return follow(tensor, local(tensor).expand(*sizes), where)


def reshape(self: DTensor, *shape: Any) -> DTensor:
    """The same elements in another shape, where each rank's part is the same elements in both."""
    sizes = list(_sizes(shape))
    count = self.numel()
    if sizes.count(-1) == 1:
        known = -prod(sizes)
        sizes[sizes.index(-1)] = count // known if known else 0
    if prod(sizes) != count or min(sizes, default=0) < 0:
        raise RuntimeError(f"shape '{list(_sizes(shape))}' is invalid for input of size {count}")
    where = _blocks(tuple(self.shape), sizes)
    lying, parts = list(self.placements), list(sizes)
    cut = [n for n, p in enumerate(lying) if isinstance(p, Shard)]
    for axis in cut:
        dim, alone = lying[axis].dim % self.ndim, self.device_mesh.shape[axis] == 1  # type: ignore[attr-defined]
        out = where.get(dim)
        if out is None and alone:
            lying[axis] = Replicate()
            continue
        shares = [n for n in cut if self.placements[n].dim % self.ndim == dim]  # type: ignore[attr-defined]
        ranks = prod(self.device_mesh.shape[n] for n in shares)
        same = out is not None and sizes[out] == self.shape[dim]
        if out is None or not (same or self.shape[dim] % ranks == sizes[out] % ranks == 0):
            raise NotImplementedError(
                f"a DTensor of shape {tuple(self.shape)} that lies as {self.placements} has no view of shape "
                f"{tuple(sizes)} without moving its parts: redistribute(placements=[Replicate()]) first, or take "
                "to_local()"
            )
        lying[axis] = type(lying[axis])(out)  # type: ignore[call-arg]
        parts[out] = self.array.shape[dim] if same else parts[out] // self.device_mesh.shape[axis]
    return placed(local(self).reshape(parts), self.device_mesh, lying, sizes)


def _blocks(before: Sequence[int], after: Sequence[int]) -> dict[int, int]:
    """Which dimension of the new shape begins where a dimension of the old one does."""
    if 0 in before:
        pairs = list(zip(before, after, strict=False))
        alike = next((n for n, (a, b) in enumerate(pairs) if a != b), len(pairs))
        return {d: d for d in range(alike)}
    starts: dict[int, int] = {}
    found: dict[int, int] = {}
    passed = 1
    for place, side in enumerate(after):
        if side != 1:
            starts[passed] = place
        passed *= side
    passed = 1
    for dim, side in enumerate(before):
        if side != 1 and passed in starts:
            found[dim] = starts[passed]
        passed *= side
    return found


def flatten(self: DTensor, start_dim: int = 0, end_dim: int = -1) -> DTensor:
    if not self.ndim:
        return reshape(self, 1)
    start, end = start_dim % self.ndim, end_dim % self.ndim
    sizes = tuple(self.shape)
    return reshape(self, *sizes[:start], prod(sizes[start : end + 1]), *sizes[end + 1 :])


def unflatten(self: DTensor, dim: int, sizes: Sequence[int]) -> DTensor:
    place, given = dim % self.ndim, list(sizes)
    if -1 in given:
        given[given.index(-1)] = self.shape[place] // -prod(given)
    return reshape(self, *self.shape[:place], *given, *self.shape[place + 1 :])


def _sizes(given: Sequence[Any]) -> tuple[int, ...]:
    first: Any = given[0] if len(given) == 1 else given
    return tuple(first) if isinstance(first, (tuple, list)) else (first,)


def iterate(self: DTensor) -> Any:
    return iter(self.unbind(0))


METHODS: dict[str, Any] = {
    "__getitem__": getitem, "__iter__": iterate, "expand": expand, "expand_as": lambda self, other: expand(self, *other.shape),
    "flatten": flatten, "ravel": flatten, "reshape": reshape, "view": reshape, "squeeze": squeeze, "unflatten": unflatten,
    "unsqueeze": unsqueeze, "view_as": lambda self, other: reshape(self, *other.shape),
    "reshape_as": lambda self, other: reshape(self, *other.shape),
    **{name: cutting(name) for name in CUTTING.split()}, **{name: turned(name) for name in TURNING.split()},
}  # fmt: skip
