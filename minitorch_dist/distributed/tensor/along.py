"""Operations of DTensors that go along dimensions: these are put together first, and each rank computes the rest alone.

    rows.softmax(1)     Shard(0): nothing moves
    rows.max(0)         Replicate(): every rank gets all rows
    rows.norm()         a number of each rank is sent, if no gradient is asked for

Sums and means move less (`arithmetic`): each rank has a summand of the result.
"""

from __future__ import annotations

from collections.abc import Callable
from math import inf
from typing import Any

import numpy as np

from minitorch_dist.distributed.tensor.arithmetic import local
from minitorch_dist.distributed.tensor.dtensor import DTensor, made
from minitorch_dist.distributed.tensor.placements import Replicate
from minitorch_dist.distributed.tensor.views import follow, together, without
from minitorch_dist.tensors.core.base import TensorBase
from minitorch_dist.tensors.tensor import Tensor

DIM_FIRST = (
    "all amax amin any argmax argmin count_nonzero cumprod cumsum flip log_softmax "
    "logcumsumexp logsumexp max median min nanmedian nansum prod softmax std var"
)
DIM_SECOND = "kthvalue norm roll topk"
LAST_DIM = "argsort sort"


def along(name: str, place: int, default: Any) -> Callable[..., Any]:
    """`dim` is the method's argument number `place`; None means all dimensions."""
    function = getattr(Tensor, name)

    def compute(self: DTensor, *args: Any, **options: Any) -> Any:
        given = args[place] if len(args) > place else default
        if name == "flip" and isinstance(given, int):  # flip(0, 1)
            given = args
        if isinstance(given, TensorBase):  # max(other)
            return getattr(self, name + "imum")(given)
        if isinstance(given, bool):  # var(unbiased)
            given = default
        dim = options.get("dim", options.get("dims", given))
        asked = (
            range(self.ndim)
            if dim is None or dim == ()
            else (dim,)
            if isinstance(dim, int)
            else dim
        )
        dims = {d % max(self.ndim, 1) for d in asked}
        lying = [Replicate() if p.is_partial() else p for p in self.placements]
        whole = self if lying == list(self.placements) else self.redistribute(placements=lying)
        tensor = together(whole, dims)
        found = function(local(tensor), *args, **options)
        parts = found if isinstance(found, tuple) else (found,)
        keeps = parts[0].array.ndim == self.ndim
        where = without(self.ndim, () if keeps else dims)
        results = [follow(tensor, each, where) for each in parts]
        return type(found)(*results) if isinstance(found, tuple) else results[0]

    return compute


def norm(self: DTensor, p: Any = "fro", dim: Any = None, *args: Any, **options: Any) -> Any:
    """Of all elements, if no gradient is asked for: from one number of each rank. Otherwise as `along` does."""
    order = 2.0 if p in ("fro", None) else p
    if dim is not None or args or options or self.is_recorded() or order in ("nuc", 0, -inf):
        return _NORM(self, p, dim, *args, **options)
    lying = [Replicate() if each.is_partial() else each for each in self.placements]
    whole = self.redistribute(placements=lying)
    own = local(whole)
    number = own.norm(order) if own.array.size else own.sum()
    found = np.asarray(whole.norm_across(number.array, order))
    everywhere = [Replicate()] * self.device_mesh.ndim
    return made(DTensor, found, self.device_mesh, everywhere, (), device=self.device)


_NORM = along("norm", 1, None)

METHODS: dict[str, Any] = {
    **{name: along(name, 0, None) for name in DIM_FIRST.split()},
    **{name: along(name, 1, -1 if name == "topk" else None) for name in DIM_SECOND.split()},
    **{name: along(name, 0, -1) for name in LAST_DIM.split()},
    "norm": norm,
}
