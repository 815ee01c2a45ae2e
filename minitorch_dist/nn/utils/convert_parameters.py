"""A model's parameters as one vector, and back."""

from __future__ import annotations

from collections.abc import Iterable

from minitorch_dist.tensors.ops.shapes import joining
from minitorch_dist.tensors.tensor import Tensor


def parameters_to_vector(parameters: Iterable[Tensor]) -> Tensor:
    """All parameters, flattened and joined."""
    return joining.cat([p.view(-1) for p in _on_one_device(parameters)])


def vector_to_parameters(vec: Tensor, parameters: Iterable[Tensor]) -> None:
    """Let the parameters look at consecutive pieces of `vec`, whose memory they share from now on."""
    if not isinstance(vec, Tensor):
        raise TypeError(f"expected torch.Tensor, but got: {type(vec).__name__}")
    start = 0
    for param in _on_one_device(parameters):
        end = start + param.numel()
        param.data = vec[start:end].view_as(param).data
        start = end


def _on_one_device(parameters: Iterable[Tensor]) -> list[Tensor]:
    found = list(parameters)
    if any(p.device is not found[0].device for p in found):
        raise TypeError("Found two parameters on different devices, this is currently not supported.")
    return found
