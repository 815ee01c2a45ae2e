"""The methods of a DTensor that write into it: each rank writes its part, where that is what writing into the whole means.

Random numbers are those that one rank would have drawn after the same `manual_seed`, bit for bit. This holds on any mesh and
in any placement: each rank draws the whole and keeps its part. Where ranks were seeded differently, the first one's generator
counts for all, as its values do in `distribute_tensor`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from minitorch_dist.distributed.device_mesh import DeviceMesh
from minitorch_dist.distributed.tensor.dtensor import DTensor, made
from minitorch_dist.distributed.tensor.part import here
from minitorch_dist.distributed.tensor.placements import local_ranges
from minitorch_dist.distributed.torch_api import tensor_collectives
from minitorch_dist.tensors import generator
from minitorch_dist.tensors.core import grad_mode
from minitorch_dist.tensors.core.base import TensorBase
from minitorch_dist.tensors.generator import Generator
from minitorch_dist.tensors.makers import creation
from minitorch_dist.tensors.tensor import Tensor

IN_PLACE = "add_ addcdiv_ addcmul_ clamp_ copy_ div_ fill_ mul_ neg_ pow_ relu_ sub_ zero_"
RANDOM = "normal_ random_ uniform_"


def _in_place(name: str) -> Any:
    """Writes into this rank's part, where that is what writing into the whole means."""
    function = getattr(Tensor, name)

    def method(self: DTensor, *args: Any, **options: Any) -> Any:
        others = [each for each in args if isinstance(each, TensorBase)]
        for each in others:
            _check_lies_as(self, each, name)
        if name not in ("zero_", "copy_") and any(p.is_partial() for p in self.placements):
            raise NotImplementedError(
                f"{name}() of a DTensor that lies in summands, {self.placements}: redistribute(placements=[Replicate()])"
            )
        if grad_mode.current_mode() == grad_mode.ON and any(each.requires_grad for each in (self, *others)):
            raise NotImplementedError(f"{name}() of a DTensor is not recorded: write under no_grad()")
        function(here(self), *[here(a) if isinstance(a, DTensor) else a for a in args], **options)
        return self

    return method


def _check_lies_as(tensor: DTensor, other: TensorBase, name: str) -> None:
    if not isinstance(other, DTensor):
        if other.array.ndim:
            raise RuntimeError(
                f"{name}() got mixed torch.Tensor and DTensor: distribute_tensor makes a DTensor of the whole, "
                "to_local() gives this rank's part"
            )
    elif (other.placements, other.shape) != (tensor.placements, tensor.shape):
        raise NotImplementedError(
            f"{name}() between DTensors that lie as {tensor.placements} and {other.placements}: redistribute() one"
        )


def _random(name: str) -> Any:
    """Draws as the mesh's first rank would for the whole, and keeps this rank's part."""

    def method(self: DTensor, *args: Any, generator: Any = None, **options: Any) -> Any:
        if generator is not None:
            raise NotImplementedError(f"{name}() of a DTensor takes no generator: seed all ranks alike")
        self.copy_(_drawn(self, lambda whole, source: getattr(whole, name)(*args, generator=source, **options)))
        return self

    return method


def _drawn(tensor: DTensor, draw: Callable[[Any, Generator], Any]) -> DTensor:
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


def attach() -> None:
    """Give these methods to `DTensor`."""
    for make, names in ((_in_place, IN_PLACE), (_random, RANDOM)):
        for name in names.split():
            setattr(DTensor, name, make(name))
    for operator, name in zip(
        ("add", "sub", "mul", "truediv", "pow"), ("add_", "sub_", "mul_", "div_", "pow_"), strict=True
    ):
        setattr(DTensor, f"__i{operator}__", _in_place(name))
