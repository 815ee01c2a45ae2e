"""How near two batches of vectors are."""

from __future__ import annotations

from minitorch_dist.nn import functional as F
from minitorch_dist.nn.modules.module import Module
from minitorch_dist.tensors.tensor import Tensor


class CosineSimilarity(Module):
    """x1 · x2 / (|x1| |x2|) along `dim`."""

    def __init__(self, dim: int = 1, eps: float = 1e-8) -> None:
        super().__init__()
        self.dim, self.eps = dim, eps

    def forward(self, x1: Tensor, x2: Tensor) -> Tensor:
        return F.cosine_similarity(x1, x2, self.dim, self.eps)
