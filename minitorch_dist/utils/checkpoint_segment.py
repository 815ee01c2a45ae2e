"""A stretch of the graph that forgets what its nodes keep, and computes it again when it is needed.

This is activation checkpointing without running a second graph: the nodes stay where they are, with
their edges, hooks and order. Only their contents go. When the first of them is asked for its
gradient, the function runs once more. Its new nodes hand their contents to the old ones, first
to first and last to last.

    forward      a ── b ── c ──      nodes remember           ... and forget, each as the next is made
    backward     a    b    c         empty
                 a'── b'── c'        the function, once more
                 a ── b ── c         contents moved over; the pass goes on as if nothing had happened
"""

from __future__ import annotations

import weakref
from collections.abc import Callable, Sequence
from itertools import zip_longest
from typing import Any

from minitorch_dist.tensors.autograd.nodes import TorchNode
from minitorch_dist.tensors.core import observers
from minitorch_dist.tensors.core.base import TensorBase
from minitorch_dist.tensors.core.graph import modified

Metadata = list[dict[str, Any]]

_ELSEWHERE = ("AccumulateGrad", "AsStridedBackward0")  # made once per leaf or stale view: kept


class CheckpointError(RuntimeError):
    """The function did something else when it ran again."""


class CheckpointSegment:
    """The nodes that one call of a function recorded, and how to call it again."""

    def __init__(self, again: Callable[[], Any], inputs: Sequence[Any]) -> None:
        self._again = again
        self.depth = len(observers.nodes.here())
        self._inputs = [(t.storage, t.storage.version, t.array) for t in inputs if isinstance(t, TensorBase)]
        self._nodes: list[weakref.ref[TorchNode]] = []
        self._kept: list[Metadata] = []

    def record(self, function: Callable[[], Any]) -> Any:
        """Run `function`; the contents of its nodes are forgotten as soon as they are recorded."""

        def forget_last(node: TorchNode) -> None:
            if node.name_ not in _ELSEWHERE:
                if self._nodes:
                    self._forget(len(self._nodes) - 1)
                self._nodes.append(weakref.ref(node))
                self._kept.append([])

        with observers.nodes.listening(forget_last):
            out = function()
        for place in range(len(self._nodes)):  # the last, and those that were filled late
            self._forget(place)
        return out

    def _forget(self, place: int) -> None:
        """Empty a node until `recall`. Of nested segments the outermost is responsible."""
        node = self._nodes[place]()
        if node is None:
            return
        kept = metadata(node)
        is_inner = node.forgotten is not None and node.forgotten[0].depth > self.depth
        if node.drop() or is_inner:
            node.forgotten = self, place
            self._kept[place] = kept

    def recall(self) -> None:
        """Run the function again and fill every node that is still empty."""
        for storage, version, array in self._inputs:
            if storage.version != version:
                raise modified(array, "the checkpointed function", storage.version, version)
        made: list[TorchNode] = []

        def note(node: TorchNode) -> None:
            if node.name_ not in _ELSEWHERE:
                made.append(node)

        with observers.nodes.listening(note, alone=True):
            out = self._again()  # held until the contents have moved: outputs may be kept
        self._compare(made)
        for place, new in enumerate(made[: len(self._nodes)]):
            old = self._nodes[place]()
            if old is not None and old.forgotten is not None and old.forgotten[0] is self:
                _refill(old, new)
        del out

    def _compare(self, made: list[TorchNode]) -> None:
        again = [metadata(node) for node in made]
        for number, (before, after) in enumerate(zip_longest(self._kept, again[: len(self._kept)])):
            if before != after:
                raise CheckpointError(
                    f"operation {number} of a checkpointed function kept {before} at first, and {after or 'nothing'} when the "
                    "function ran again. It must do the same each time it is called with the same arguments."
                )


def _refill(old: TorchNode, new: TorchNode) -> None:
    """Move the contents of `new` to `old`. If an inner segment has emptied `new`, it is to fill `old`."""
    old.take_over(new)
    old.forgotten = new.forgotten
    if old.forgotten is not None:
        inner, place = old.forgotten
        inner._nodes[place] = weakref.ref(old)


def metadata(node: TorchNode) -> Metadata:
    """The data that the determinism check compares: the operation, and shape and type of the arrays it keeps."""
    return [{"operation": node.name_, "shape": array.shape, "dtype": str(array.dtype)} for array in node.kept()]
