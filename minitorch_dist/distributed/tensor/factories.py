"""Distributed tensors from nothing: each rank makes its part, and no more than that.

Random numbers in place (`normal_`, `uniform_`) are what one rank would have drawn after the same `manual_seed`, bit for
bit, on any mesh and in any placement. For that each rank draws the whole and keeps its part. Where ranks were seeded
differently, the first one's generator counts for all, as its values do in `distribute_tensor`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from minitorch_dist.distributed.device_mesh import DeviceMesh
from minitorch_dist.distributed.tensor.dtensor import DTensor, checked, made
from minitorch_dist.distributed.tensor.placements import Placement, local_ranges
from minitorch_dist.distributed.torch_api import tensor_collectives
from minitorch_dist.tensors import devices, dtypes, generator
from minitorch_dist.tensors.generator import Generator
from minitorch_dist.tensors.ops.making import creation
from minitorch_dist.tensors.shape_arrays import mode

Placements = Sequence[Placement] | None


def zeros(
    *size: Any, device_mesh: DeviceMesh | None = None, placements: Placements = None, **how: Any
) -> DTensor:
    """`how`: dtype, requires_grad. Without `placements` every rank has the whole."""
    return _filled(size, lambda part: part.fill(0), device_mesh, placements, **how)


def ones(
    *size: Any, device_mesh: DeviceMesh | None = None, placements: Placements = None, **how: Any
) -> DTensor:
    return _filled(size, lambda part: part.fill(1), device_mesh, placements, **how)


def empty(
    *size: Any, device_mesh: DeviceMesh | None = None, placements: Placements = None, **how: Any
) -> DTensor:
    """A DTensor of the values that happen to be in memory."""
    return _filled(size, lambda part: None, device_mesh, placements, **how)


def _filled(
    size: tuple[Any, ...],
    fill: Callable[[Any], Any],
    mesh: DeviceMesh | None,
    placements: Placements,
    dtype: dtypes.dtype | None = None,
    requires_grad: bool = False,
    layout: Any = None,
) -> DTensor:
    shape = tuple(size[0]) if len(size) == 1 and isinstance(size[0], (tuple, list)) else size
    if mesh is None:
        raise ValueError("say on which ranks: device_mesh=init_device_mesh('cpu', (world_size,))")
    at, chosen = mesh.get_coordinate(), checked(placements, mesh)
    assert at is not None
    part = local_ranges(shape, mesh.shape, at, chosen)
    kind = dtypes.get_default_dtype() if dtype is None else dtype
    device = mesh.device_for(devices.get_default_device())
    sides = [side.stop - side.start for side in part]
    array = np.empty(sides, kind.numpy, like=mode.template(device))
    fill(array)
    out: DTensor = made(DTensor, array, mesh, chosen, shape, device=device)
    out.requires_grad = requires_grad
    return out


def drawn_like(tensor: DTensor, draw: Callable[[Any, Generator], Any]) -> DTensor:
    """Random numbers for all of `tensor`, of which this rank keeps its part. `draw(whole, generator)` fills a tensor."""
    if any(one.is_partial() for one in tensor.placements):
        raise ValueError(f"random numbers cannot be drawn in summands: {tensor.placements}")
    mesh, at = tensor.device_mesh, tensor.device_mesh.get_coordinate()
    assert at is not None
    shape, kind = tuple(tensor.shape), tensor.dtype
    whole = _as_the_first(mesh, lambda source: draw(creation.empty(shape, dtype=kind), source))
    part = local_ranges(shape, mesh.shape, at, tensor.placements)
    array = whole.array[tuple(slice(*side) for side in part)].copy(order="C")
    out: DTensor = made(DTensor, array, mesh, tensor.placements, shape, device=tensor.device)
    return out


def _as_the_first(mesh: DeviceMesh, draw: Callable[[Generator], Any]) -> Any:
    """Draw as the mesh's first rank does. This rank's own numbers go on by as many as well."""
    own = generator.current()
    state = own.get_state()
    counts = state.clone()
    for axis in range(mesh.ndim):
        if mesh.shape[axis] > 1:
            tensor_collectives.broadcast(counts, group=mesh.get_group(axis), group_src=0)
    found = draw(own)
    return found if (counts.array == state.array).all() else draw(Generator().set_state(counts))
