"""A layer that only changes the shape."""

from __future__ import annotations

from minitorch_dist.nn.modules.module import Module
from minitorch_dist.tensors.tensor import Tensor


class Flatten(Module):
    """Joins the dimensions start_dim … end_dim; the batch is kept unless told otherwise."""

    def __init__(self, start_dim: int = 1, end_dim: int = -1) -> None:
        super().__init__()
        self.start_dim, self.end_dim = start_dim, end_dim

    def forward(self, input: Tensor) -> Tensor:
        return input.flatten(self.start_dim, self.end_dim)

    def extra_repr(self) -> str:
        return f"start_dim={self.start_dim}, end_dim={self.end_dim}"
