"""Random numbers for a DTensor: what one rank would have drawn after the same `manual_seed`, bit for bit.

This holds on any mesh and in any placement: each rank draws the whole and keeps its part. Where ranks were seeded
differently, the first one's generator counts for all, as its values do in `distribute_tensor`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from minitorch_dist.distributed.device_mesh import DeviceMesh
from minitorch_dist.distributed.tensor.dtensor import DTensor, made
from minitorch_dist.distributed.tensor.placements import local_ranges
from minitorch_dist.distributed.torch_api import tensor_collectives
from minitorch_dist.tensors import generator
from minitorch_dist.tensors.generator import Generator
from minitorch_dist.tensors.ops.making import creation


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
