"""Hooks on the graph: an output of a forward was reached by a backward pass, a gradient is complete.

The hooks know their reducer weakly, so that a wrapper which is deleted lets go of its module.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable, Iterable
from typing import Any

from minitorch_dist.tensors import engine, graph
from minitorch_dist.tensors.base import TensorBase
from minitorch_dist.tensors.hooks import RemovableHandle


class Outputs:
    """The nodes of forwards' outputs, as long as their graphs live; `reached` is called when a
    backward pass comes to one."""

    def __init__(self, reached: Callable[[], None]) -> None:
        self._reached = weakref.WeakMethod(reached)
        self._nodes: weakref.WeakSet[Any] = weakref.WeakSet()
        self._expects_any = False  # after an output of a kind that cannot be looked into

    def watch(self, outputs: Iterable[TensorBase]) -> None:
        """Watch these from now on."""
        found = False
        for output in outputs:
            found = True
            edge = graph.edge_of(output)
            if edge is not None and edge[0] not in self._nodes:
                self._nodes.add(edge[0])
                RemovableHandle(edge[0].hooked().reached, _calls(self._reached))
        self._expects_any = not found

    def are_on(self, running: engine.Pass) -> bool:
        """Whether this pass comes through one of them."""
        return self._expects_any or any(node in running.tasks for node in self._nodes)

    def forget_the_unknown(self) -> None:
        """A pass has come: the output that could not be looked into counts as used."""
        self._expects_any = False

    def __repr__(self) -> str:
        return f"<Outputs: {len(self._nodes)} alive>"


def when_complete(p: TensorBase, number: int, arrived: Callable[[int], None]) -> RemovableHandle:
    """Call `arrived(number)` whenever a gradient was collected, in `p.grad` or where the pass keeps it."""
    edge = graph.edge_of(p)
    assert edge is not None, "parameters of a reducer require grad"
    return RemovableHandle(edge[0].hooked().kept, _calls(weakref.WeakMethod(arrived), number))


def _calls(method: weakref.WeakMethod[Any], *given: Any) -> Callable[..., None]:
    def call(*_: Any) -> None:
        found = method()
        if found is not None:
            found(*given)

    return call
