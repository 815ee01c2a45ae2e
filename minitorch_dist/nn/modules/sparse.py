"""Tables that are looked up by index: a row per word."""

from __future__ import annotations

from typing import Any, Self

from minitorch_dist.nn import functional as F, init
from minitorch_dist.nn.modules.module import Module
from minitorch_dist.nn.parameter import Parameter
from minitorch_dist.tensors.autograd import grad_modes
from minitorch_dist.tensors.makers import creation
from minitorch_dist.tensors.tensor import Tensor


class Embedding(Module):
    """Rows of a table by index, normal at first.

    Args:
        num_embeddings: The number of rows.
        embedding_dim: The length of a row.
        padding_idx: A row that is zero, and never trained.
        sparse: Must be False.
        device: The simulated device of its parameters.
        dtype: The type of its parameters.

    Example:
        >>> nn.Embedding(10, 4)(torch.tensor([1, 2, 2])).shape
        torch.Size([3, 4])
    """

    def __init__(
        self,
        num_embeddings: int,
        embedding_dim: int,
        padding_idx: int | None = None,
        *,
        sparse: bool = False,
        _weight: Tensor | None = None,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__()
        if sparse:
            raise NotImplementedError("sparse gradients are not offered: leave sparse=True out")
        self.num_embeddings, self.embedding_dim = num_embeddings, embedding_dim
        if padding_idx is not None:
            if not -num_embeddings <= padding_idx < num_embeddings:
                raise AssertionError("Padding_idx must be within num_embeddings")
            padding_idx %= num_embeddings
        self.padding_idx = padding_idx
        if _weight is not None:
            self.weight = Parameter(_weight)
            return
        self.weight = Parameter(creation.empty(num_embeddings, embedding_dim, device=device, dtype=dtype))
        self.reset_parameters()

    def reset_parameters(self) -> None:
        init.normal_(self.weight)
        if self.padding_idx is not None:
            with grad_modes.no_grad():
                self.weight[self.padding_idx].fill_(0)

    def forward(self, input: Tensor) -> Tensor:
        return F.embedding(input, self.weight, self.padding_idx)

    def extra_repr(self) -> str:
        text = f"{self.num_embeddings}, {self.embedding_dim}"
        return text if self.padding_idx is None else f"{text}, padding_idx={self.padding_idx}"

    @classmethod
    def from_pretrained(cls, embeddings: Tensor, freeze: bool = True, padding_idx: int | None = None) -> Self:
        """A table with the given rows, sharing their memory."""
        rows, width = embeddings.shape
        made = cls(rows, width, padding_idx, _weight=embeddings)
        made.weight.requires_grad = not freeze
        return made


class EmbeddingBag(Embedding):
    """Sums or means of bags of rows, without making the rows."""

    def __init__(
        self,
        num_embeddings: int,
        embedding_dim: int,
        padding_idx: int | None = None,
        *,
        mode: str = "mean",
        sparse: bool = False,
        _weight: Tensor | None = None,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__(
            num_embeddings, embedding_dim, padding_idx, sparse=sparse, _weight=_weight, device=device, dtype=dtype
        )
        if padding_idx is not None:
            raise NotImplementedError("EmbeddingBag(padding_idx=) is not offered; PyTorch has it")
        self.mode = mode

    def forward(self, input: Tensor, offsets: Tensor | None = None) -> Tensor:
        return F.embedding_bag(input, self.weight, offsets, mode=self.mode)

    def extra_repr(self) -> str:
        return f"{super().extra_repr()}, mode={self.mode!r}"
