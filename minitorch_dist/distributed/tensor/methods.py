"""The methods of a DTensor that write into it: each rank writes its part, where that is what writing into the whole means."""

from __future__ import annotations

from typing import Any

from minitorch_dist.distributed.tensor.dtensor import DTensor
from minitorch_dist.distributed.tensor.part import here
from minitorch_dist.distributed.tensor.random_numbers import drawn_like
from minitorch_dist.tensors.core import grad_mode
from minitorch_dist.tensors.core.base import TensorBase
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
        self.copy_(
            drawn_like(self, lambda whole, source: getattr(whole, name)(*args, generator=source, **options))
        )
        return self

    return method


def attach() -> None:
    """Give these methods to `DTensor`."""
    for make, names in ((_in_place, IN_PLACE), (_random, RANDOM)):
        for name in names.split():
            setattr(DTensor, name, make(name))
    for operator, name in zip(
        ("add", "sub", "mul", "truediv", "pow"), ("add_", "sub_", "mul_", "div_", "pow_"), strict=True
    ):
        setattr(DTensor, f"__i{operator}__", _in_place(name))
