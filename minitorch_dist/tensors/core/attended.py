"""The rare ways of a backward pass: hooks, passes that go to `inputs` only, nodes that somebody watches.

The engine's loop hands a node over to `run` when it is not an ordinary one. So the ordinary road
stays short, and costs one question.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from contextvars import ContextVar
from functools import partial
from typing import Any

from minitorch_dist.tensors.core import device_labels, observers
from minitorch_dist.tensors.core.base import TensorBase
from minitorch_dist.tensors.core.graph import AccumulateGrad, Gradient, Node, edge_of
from minitorch_dist.tensors.core.observers import Execute


def run(
    node: Node, grads: list[Gradient], owned: list[bool], wanted: Wanted | None, retain_graph: bool
) -> tuple[Sequence[Gradient], bool]:
    """The gradients that `node` hands on, and whether these arrays belong to nobody else."""
    if wanted is not None and not wanted.take(node, grads, owned):
        return [None] * len(node.edges), False
    if isinstance(node, AccumulateGrad):
        if observers.operations:
            _tell_of_collecting(node, grads[0])
        collect(node, grads, owned)
        return (), False
    execute = observers.surrounded(node) if observers.around else node.run
    if wanted is not None and node.vjps is not None and not observers.around:
        execute = partial(node.run_towards, wanted.reaches)
    if node.hooks is None:
        results, owns = execute(grads), node.owns
    else:
        results, owns = run_hooked(node, grads, owned, execute), False
    if node.device is not device_labels.CPU:
        observers.memory.arrived(results, node.device)
    if not retain_graph:
        node.release()
    return results, owns


def _tell_of_collecting(node: AccumulateGrad, grad: Gradient) -> None:
    """A gradient that a leaf has already is read and written; the first one is kept as it is."""
    leaf = node.leaf()
    if leaf is not None and leaf._grad is not None and grad is not None:
        present = leaf._grad.array
        observers.operated("AccumulateGrad", (present, grad), (present,))


# ---------------------------------------------------------------------------------------- hooks


def run_hooked(
    node: Node, grads: list[Gradient], owned: list[bool], execute: Execute
) -> Sequence[Gradient]:
    """Execute a node that has hooks, with those before and after."""
    grads = hooked(node, grads, owned)
    results = execute(grads)
    return results if node.hooks is None else node.hooks.run_after(results, grads, node.device)


def hooked(node: Node, grads: list[Gradient], owned: list[bool]) -> list[Gradient]:
    """The gradients of a node after the hooks before it."""
    if node.hooks is not None:
        for reached in list(node.hooks.reached.values()):
            reached()
        grads = node.hooks.run_tensor_hooks(grads, owned, node.device)
        grads = node.hooks.run_before(grads, owned, node.device)
    return grads


def collect(node: AccumulateGrad, grads: list[Gradient], owned: list[bool]) -> None:
    """Add a complete gradient to its leaf, with the hooks before and after."""
    hooks = node.hooks
    if hooks is None:
        node.collect(grads[0], owned[0])
        return
    grads = hooked(node, grads, owned)
    leaf = node.leaf()
    if leaf is not None:
        node.collect(grads[0], owned[0] and not hooks.see())
        for hook in (*hooks.collected.values(), *hooks.kept.values()):
            hook(leaf)
        hooks.run_after((), grads, node.device)


# ------------------------------------------------------------------------------- only to `inputs`


class Wanted:
    """A pass with `inputs`: which nodes it runs, and what has arrived where it was asked for."""

    def __init__(
        self, inputs: Sequence[TensorBase], tasks: Iterable[Node], accumulate: bool
    ) -> None:
        self.arrived: list[Gradient] = [None] * len(inputs)
        self._places: dict[Node, list[tuple[int, int]]] = {}  # node: (its output, index in inputs)
        for index, tensor in enumerate(inputs):
            edge = edge_of(tensor)
            assert edge is not None, "inputs were checked to require grad"
            self._places.setdefault(edge[0], []).append((edge[1], index))
        leads_there = set(self._places)
        self._runs = set(self._places) if accumulate else set()
        for node in sorted(tasks, key=lambda n: n.sequence):  # children before their parents
            if any(edge is not None and edge[0] in leads_there for edge in node.edges):
                leads_there.add(node)
                self._runs.add(node)
        if accumulate:  # they collect in `.grad`; nothing is handed out
            self._places.clear()

    def reaches(self, node: Node) -> bool:
        return node in self._runs or node in self._places

    def take(self, node: Node, grads: list[Gradient], owned: list[bool]) -> bool:
        """Keep what was asked for; returns whether the node has to run.

        Where a node does run, its tensor hooks have not been called yet (as in torch).
        """
        runs = node in self._runs
        places = self._places.get(node, ())
        if places and not runs and node.hooks is not None:
            grads = node.hooks.run_tensor_hooks(grads, owned, node.device)
        for output, index in places:
            grad = grads[output]
            self.arrived[index] = None if grad is None else grad.copy()
        return runs


# -------------------------------------------------------------------------------- leaves by lot

leaf_order: ContextVar[Callable[[], int] | None] = ContextVar("leaf_order", default=None)
"""Draws lots among the leaves. Of those that are complete at the same time, the one with the highest lot
collects first, and its hooks are called. Without it they have torch's order, which torch does not promise."""


def draw_lots(tasks: Mapping[Node, Any]) -> None:
    """Let every leaf draw, if there are lots to draw."""
    draw = leaf_order.get()
    if draw is not None:
        for node, task in tasks.items():
            if isinstance(node, AccumulateGrad):
                task.priority += draw()
