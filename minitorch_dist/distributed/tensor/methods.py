"""The methods of a DTensor that compute, in terms of `arithmetic`."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

import numpy as np

from minitorch_dist.distributed.tensor import arithmetic
from minitorch_dist.distributed.tensor.dtensor import DTensor
from minitorch_dist.distributed.tensor.part import here
from minitorch_dist.distributed.tensor.random_numbers import drawn_like
from minitorch_dist.tensors.core import base, grad_mode
from minitorch_dist.tensors.core.base import TensorBase
from minitorch_dist.tensors.tensor import Tensor

OPERATORS = {
    "add": operator.add, "sub": operator.sub, "mul": operator.mul, "truediv": operator.truediv,
    "pow": operator.pow,
}  # fmt: skip
CONVERSIONS = "bfloat16 bool double float half int long"
ELEMENT_BY_ELEMENT = (
    "abs ceil clamp clamp_max clamp_min cos exp floor isfinite isinf isnan log log1p log2 reciprocal",
    "relu round rsqrt sigmoid sign sin sqrt square tanh",
)
IN_PLACE = "add_ addcdiv_ addcmul_ clamp_ copy_ div_ fill_ mul_ neg_ pow_ relu_ sub_ zero_"
RANDOM = "normal_ random_ uniform_"


def _operator(operation: Callable[..., Any]) -> tuple[Any, Any]:
    def binary(self: DTensor, other: Any) -> Any:
        return arithmetic.elementwise(operation, self, other)

    def reflected(self: DTensor, other: Any) -> Any:
        return arithmetic.elementwise(operation, other, self)

    return binary, reflected


def _element_by_element(name: str) -> Any:
    function = getattr(Tensor, name)

    def method(self: DTensor, *args: Any, **options: Any) -> Any:
        if any(isinstance(each, TensorBase) for each in (*args, *options.values())):
            self._refuse_part(f"{name}() with tensors")
        return arithmetic.unary(lambda own: function(own, *args, **options), self)

    return method


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
        if grad_mode.current_mode() == grad_mode.ON and any(
            each.requires_grad for each in (self, *others)
        ):
            raise NotImplementedError(
                f"{name}() of a DTensor is not recorded: write under no_grad()"
            )
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
            raise NotImplementedError(
                f"{name}() of a DTensor takes no generator: seed all ranks alike"
            )
        self.copy_(
            drawn_like(
                self, lambda whole, source: getattr(whole, name)(*args, generator=source, **options)
            )
        )
        return self

    return method


def _negative(self: DTensor) -> Any:
    return arithmetic.unary(operator.neg, self, linear=True)


def _item(self: DTensor) -> Any:
    """The number, which all ranks get. Collective."""
    return self.detach().full_tensor().item()


def _backward(self: DTensor, gradient: Any = None, *args: Any, **options: Any) -> None:
    """As `Tensor.backward`; each rank begins with its part of the gradient."""
    own = here(self)
    own.backward(here(gradient) if isinstance(gradient, DTensor) else gradient, *args, **options)


def _to(self: DTensor, *args: Any, **options: Any) -> Any:
    """In another type, or on another device: each rank its part."""
    wanted = Tensor.to(
        base.new(Tensor, np.empty(0, self.array.dtype), self.device), *args, **options
    )
    if wanted.dtype is self.dtype and wanted.device is self.device and not options.get("copy"):
        return self
    return arithmetic.unary(lambda own: own.to(*args, **options), self, linear=True)


METHODS: dict[str, Any] = {
    "add": _operator(operator.add)[0], "sub": _operator(operator.sub)[0], "mul": _operator(operator.mul)[0], "div": _operator(operator.truediv)[0],
    "neg": _negative, "__neg__": _negative, "__abs__": _element_by_element("abs"),
    "sum": arithmetic.total, "item": _item, "to": _to, "backward": _backward,
    "__float__": lambda self: float(self.item()), "__int__": lambda self: int(self.item()),
}  # fmt: skip


def attach() -> None:
    """Give these methods to `DTensor`."""
    for name, operation in OPERATORS.items():
        binary, reflected = _operator(operation)
        setattr(DTensor, f"__{name}__", binary)
        setattr(DTensor, f"__r{name}__", reflected)
    made = [
        (CONVERSIONS, _element_by_element), *((names, _element_by_element) for names in ELEMENT_BY_ELEMENT),
        (IN_PLACE, _in_place), (RANDOM, _random),
    ]  # fmt: skip
    for names, make in made:
        for name in names.split():
            setattr(DTensor, name, make(name))
    for name, written in (("add", "add_"), ("sub", "sub_"), ("mul", "mul_"), ("truediv", "div_"), ("pow", "pow_")):  # fmt: skip
        setattr(DTensor, f"__i{name}__", _in_place(written))
    for name, method in METHODS.items():
        setattr(DTensor, name, method)
