"""A backward pass: the one that is running, and the rare ways that it may take.

The rare ways are hooks, passes that go to `inputs` only, and nodes that somebody watches. The engine's loop hands such a node over
to `attend`. So the ordinary path stays short, and costs one question.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import partial

from minitorch_dist.tensors.autograd.hooks import NodeHooks
from minitorch_dist.tensors.core import device_labels, engine, observers, rare_cases
from minitorch_dist.tensors.core.base import Array, TensorBase
from minitorch_dist.tensors.core.engine import BackwardPass
from minitorch_dist.tensors.core.graph import AccumulateGrad, Edge, Gradient, Node, edge_of
from minitorch_dist.tensors.core.observers import Execute


def queue_callback(function: Callable[[], None]) -> None:
    """Call `function` when the running backward pass of this thread has finished."""
    running = engine.current.get()
    if running is None:
        raise RuntimeError("Final callbacks can only be installed during backward pass.")
    running.callbacks.append(function)


def outermost() -> BackwardPass | None:
    """The backward pass that this thread is in; of nested ones the first."""
    running = engine.current.get()
    while running is not None and running.outer is not None:
        running = running.outer
    return running


# --------------------------------------------------------------------------------- the rare ways


def attend(
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
    execute: Execute = node.run if wanted is None else wanted.execution(node)
    if observers.around:
        execute = observers.surrounded(node, execute)
    if node.hooks is None:
        results, owns = execute(grads), node.owns
    else:
        results, owns = execute(hooked(node, grads, owned)), False
    if node.device is not device_labels.CPU:
        observers.memory.arrived(results, node.device)
    if not retain_graph:
        node.release()
    return results, owns


rare_cases.attend = attend


def run_towards(node: Node, is_wanted: Callable[[Node], bool], grads: Sequence[Gradient]) -> Sequence[Gradient]:
    """As `node.run`; a gradient that leads to no wanted node is not computed."""
    vjps, grad = node.vjps, grads[0]
    if vjps is None or grad is None or grad.dtype.kind == "c":
        return node.run(grads)
    node.check_versions()
    return [
        vjp(grad) if vjp is not None and edge is not None and is_wanted(edge[0]) else None
        for vjp, edge in zip(vjps, node.edges, strict=True)
    ]


def _tell_of_collecting(node: AccumulateGrad, grad: Gradient) -> None:
    """A gradient that a leaf has already is read and written; the first one is kept as it is."""
    leaf = node.leaf()
    if leaf is not None and leaf._grad is not None and grad is not None:
        present = leaf._grad.array
        observers.operated("AccumulateGrad", (present, grad), (present,))


# ---------------------------------------------------------------------------------------- hooks


def hooked(node: Node, grads: list[Gradient], owned: list[bool]) -> list[Gradient]:
    """The gradients of a node after the hooks before it."""
    hooks = node.hooks
    for reached in list(hooks.reached.values()) if hooks else ():
        reached()
    if hooks and are_handed_gradients(hooks):
        grads = hooks.run_tensor_hooks(grads, owned, node.device)
    return grads


def are_handed_gradients(hooks: NodeHooks) -> bool:
    """Whether some of them see gradients, and might keep or replace them."""
    return bool(hooks.tensor or hooks.retained)


def collect(node: AccumulateGrad, grads: list[Gradient], owned: list[bool]) -> None:
    """Add a complete gradient to its leaf, with the hooks before and after."""
    hooks = node.hooks
    if hooks is None:
        node.collect(grads[0], owned[0])
        return
    grads = hooked(node, grads, owned)
    leaf = node.leaf()
    if leaf is not None:
        node.collect(grads[0], owned[0] and not are_handed_gradients(hooks))
        for hook in (*hooks.collected.values(), *hooks.kept.values()):
            hook(leaf)


# ------------------------------------------------------------------------------- only to `inputs`


def run(
    roots: Sequence[tuple[Edge, Array]], retain_graph: bool, inputs: Sequence[TensorBase], accumulate: bool = True
) -> list[Gradient]:
    """Send the gradients of `roots` back to `inputs`, and nowhere else. Returns those that arrive.

    With `accumulate` the inputs collect them in `.grad` instead.
    """
    wanted = Wanted(inputs, accumulate)
    engine.run(roots, retain_graph, wanted)
    return wanted.arrived


class Wanted:
    """A pass with `inputs`: which nodes it runs, and what has arrived where it was asked for."""

    def __init__(self, inputs: Sequence[TensorBase], accumulate: bool) -> None:
        self.arrived: list[Gradient] = [None] * len(inputs)
        self._places: dict[Node, list[tuple[int, int]]] = {}  # node: (its output, index in inputs)
        for index, tensor in enumerate(inputs):
            edge = edge_of(tensor)
            assert edge is not None, "inputs were checked to require grad"
            self._places.setdefault(edge[0], []).append((edge[1], index))
        self._runs = set(self._places) if accumulate else set()
        self._accumulate = accumulate

    def begin(self, tasks: Iterable[Node]) -> None:
        """Find out which of these nodes lead to the inputs."""
        leads_there = set(self._places)
        for node in sorted(tasks, key=lambda n: n.sequence):  # children before their parents
            if any(edge is not None and edge[0] in leads_there for edge in node.edges):
                leads_there.add(node)
                self._runs.add(node)
        if self._accumulate:  # they collect in `.grad`; nothing is handed out
            self._places.clear()

    def reaches(self, node: Node) -> bool:
        return node in self._runs or node in self._places

    def execution(self, node: Node) -> Execute:
        """How `node` computes its gradients in this pass."""
        return node.run if node.vjps is None else partial(run_towards, node, self.reaches)

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
