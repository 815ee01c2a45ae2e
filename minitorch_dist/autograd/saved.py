"""Tensors that a `Function` keeps from its forward for its backward."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from minitorch_dist.tensors.core.base import TensorBase, bare
from minitorch_dist.tensors.core.graph import Node, modified, read_now


class SavedTensor:
    """A tensor with the version it had.

    A leaf is kept as it is. Of anything else only the array and its place in the graph are kept. An output
    that held its own node, which holds this, would never be freed without the collector.
    """

    def __init__(self, tensor: TensorBase, output: int | None) -> None:
        self.leaf = tensor if output is None and tensor._grad_fn is None else None
        self.storage, self.version, self.array = read_now(tensor)
        self.requires_grad = tensor._requires_grad
        self.output = output or 0
        self.place = None if output is not None else (tensor._grad_fn, tensor._output_nr)

    def unpack(self, node: Node) -> TensorBase:
        """The tensor again; `node` is the one that saved it."""
        if self.storage.version != self.version:
            raise modified(self.array, node.name_, self.storage.version, self.version)
        if self.leaf is not None:
            return self.leaf
        out: TensorBase = bare(TensorBase.plain, self.array, self.storage)
        if self.requires_grad:
            out._requires_grad = True
            out._grad_fn, out._output_nr = (node, self.output) if self.place is None else self.place
        return out


def save(tensor: TensorBase, outputs: Sequence[Any]) -> SavedTensor:
    for number, output in enumerate(outputs):
        if output is tensor:
            return SavedTensor(tensor, number)
    return SavedTensor(tensor, None)
