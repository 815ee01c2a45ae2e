"""The nodes of the graph with torch's names: those that a user sees in `grad_fn`.

`core.graph.Node` has the work itself: the tensors it read, and how it computes gradients.
"""

from __future__ import annotations

from typing import Any

from minitorch_dist.tensors.core import graph
from minitorch_dist.tensors.core.base import Array, TensorBase
from minitorch_dist.tensors.core.graph import FREED, KINDS, Node


class TorchNode(Node):
    """A node, and what torch's users ask of it."""

    forgotten: tuple[Any, int] | None = None  # the checkpoint's segment, and the place in it

    def name(self) -> str:
        return self.name_

    @property
    def next_functions(self) -> tuple[tuple[Any, int], ...]:
        return tuple((None, 0) if edge is None else edge for edge in self.edges)

    # For a checkpoint (see `utils.checkpoint_segment`).

    def kept(self) -> list[Array]:
        """The arrays it keeps for its gradient, as far as they were declared."""
        return [read[2] for read in self.reads or ()]

    def drop(self) -> bool:
        """Let go of what is kept; False if there is nothing."""
        if self.vjps is None and self.backward is None:
            return False
        self.reads = self.vjps = self.backward = None
        return True

    def recall(self) -> None:
        """Compute again what was forgotten. Raises if it was freed instead."""
        if self.forgotten is None:
            raise RuntimeError(FREED)
        self.forgotten[0].recall()
        if self.forgotten is not None:
            self.recall()  # a segment within that segment has still to run

    def take_over(self, other: Any) -> None:
        """Take the contents of `other`, which is the same operation run again."""
        self.vjps, self.backward, self.reads = other.vjps, other.backward, other.reads


class TorchAccumulateGrad(TorchNode, graph.AccumulateGrad):
    """The node of a leaf."""

    def name(self) -> str:
        return "torch::autograd::AccumulateGrad"

    @property
    def variable(self) -> TensorBase | None:
        """The leaf, unless it was deleted."""
        return self.leaf()


TorchAccumulateGrad.__name__ = TorchAccumulateGrad.__qualname__ = "AccumulateGrad"
KINDS.base, KINDS["AccumulateGrad"] = TorchNode, TorchAccumulateGrad
