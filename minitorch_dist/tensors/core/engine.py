"""The engine: gradients travel from the roots back to the leaves.

The naive form is a recursion over the graph. It is written as a loop, so that a chain of 50,000
operations needs no stack. It visits nodes in torch's order: among the nodes whose gradient is
complete, the most recently recorded runs first, and leaves collect at once. This order decides in
which sequence DDP's buckets become ready.

    count, for every node reachable from the roots, how many edges lead to it
    ready = the roots
    while ready:
        take the newest node; it turns its gradients into those of its inputs
        hand these on: add to what has already arrived there; one edge fewer is awaited
        a node that awaits no more edges becomes ready

`simple_backward` says the same in a few lines, without hooks, `inputs`, threads, or memory that is given
back. `run` is the fast form, and a test holds the two against each other, bit for bit. Nodes with hooks,
passes that go to some tensors only, and nodes that an observer watches are a rare case (`autograd.passes`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextvars import ContextVar
from dataclasses import dataclass, field
from heapq import heappop, heappush
from typing import Any, Protocol

import numpy as np

from minitorch_dist.tensors.core import base, grad_mode, observers, rare_cases
from minitorch_dist.tensors.core.base import Array, TensorBase
from minitorch_dist.tensors.core.device_labels import CPU
from minitorch_dist.tensors.core.graph import AccumulateGrad, Edge, Gradient, Node
from minitorch_dist.tensors.core.without_warnings import enter_silence, leave_silence


def simple_backward(roots: Sequence[tuple[Edge, Array]]) -> None:
    """Add to `.grad` of every leaf its gradient, given those of the roots. The graph stays as it is.

    A node is always newer than those that its edges lead to. So the newest node that has received
    anything has received everything, and may run; the leaves are the last.
    """
    arrived: dict[Node, list[Gradient]] = {}

    def arrive(edge: Edge, grad: Gradient) -> None:
        node, output = edge
        grads = arrived.setdefault(node, [None] * node.outputs)
        present = grads[output]
        if grad is not None:
            grads[output] = np.asanyarray(grad if present is None else present + grad)

    for edge, grad in roots:
        arrive(edge, grad)
    while arrived:
        node = max(arrived, key=lambda n: -1 if isinstance(n, AccumulateGrad) else n.sequence)
        grads = arrived.pop(node)
        if isinstance(node, AccumulateGrad):
            _add_to_leaf(node.leaf(), grads[0])
            continue
        for each, result in zip(node.edges, node.run(grads), strict=True):
            if each is not None:
                arrive(each, result)


def _add_to_leaf(leaf: TensorBase | None, grad: Gradient) -> None:
    if leaf is not None and grad is not None:
        total = grad if leaf._grad is None else leaf._grad.array + grad
        total = np.array(total, leaf.array.dtype)
        leaf._grad = base.new(TensorBase.plain, total, leaf.storage.device)


# ---------------------------------------------------------------------------- what a pass knows


class NodeTask:
    """All that one pass of the engine knows about a node.

    Ready tasks stand in a heap of `heapq`, the newest on top. Leaves all have the same priority, and a
    heap returns equals in an order that follows from its shape. Four leaves of one `stack` come out as
    0, 2, 1, 3. This is the order of C++'s `std::priority_queue`, and so of torch; DDP sends its buckets
    in it.
    """

    __slots__ = ("awaits", "grads", "node", "owned", "priority")

    def __init__(self, node: Node) -> None:
        self.node, self.priority = node, node.sequence
        self.awaits = 0  # edges along which a gradient, or word that there is none, is to come
        self.grads: list[Gradient] = [None] * node.outputs
        self.owned = [False] * node.outputs  # may be added to in place

    def __lt__(self, other: NodeTask) -> bool:
        return self.priority > other.priority

    def arrive(self, output: int, grad: Gradient, owned: bool) -> bool:
        """Add what comes along one edge (None: nothing does); whether it was the last one."""
        if grad is not None:
            present = self.grads[output]
            if present is not None:
                self._add(output, present, grad)
            else:  # arithmetic of 0-dim arrays returns numpy scalars
                self.grads[output] = grad if type(grad) is np.ndarray else np.asanyarray(grad)
                self.owned[output] = owned
        self.awaits -= 1
        return not self.awaits

    def _add(self, output: int, present: Array, grad: Array) -> None:
        if observers.operations:
            observers.operated("AccumulateGrad", (present, grad), (present,))
        if self.owned[output]:
            np.add(present, grad, out=present)
            return
        total = self.grads[output] = np.asanyarray(present + grad)
        self.owned[output] = True
        if self.node.device is not CPU:
            observers.memory.arrived((total,), self.node.device)


def count_edges(roots: Sequence[Edge]) -> dict[Node, NodeTask]:
    """A task for every node that can be reached, with the number of edges that lead to it."""
    tasks: dict[Node, NodeTask] = {}
    stack: list[Sequence[Edge | None]] = [roots]
    while stack:
        for edge in stack.pop():
            if edge is not None:
                node = edge[0]
                if node not in tasks:
                    tasks[node] = NodeTask(node)
                    stack.append(node.edges)
                tasks[node].awaits += 1
    return tasks


@dataclass(slots=True, eq=False)
class BackwardPass:
    """The public side of a running backward pass: others read it and ask it."""

    tasks: dict[Node, NodeTask]
    wanted: Targets | None
    outer: BackwardPass | None = None
    """The pass during which this one began (a re-entrant checkpoint's does)."""
    retain_graph: bool = False
    kept: dict[TensorBase, Any] | None = None
    """Where gradients of leaves are collected; None: in their `.grad`."""
    callbacks: list[Callable[[], None]] = field(default_factory=list)

    def reaches(self, node: Node) -> bool:
        """Whether a gradient will arrive at `node`."""
        return node in self.tasks and (self.wanted is None or self.wanted.reaches(node))


current: ContextVar[BackwardPass | None] = ContextVar("backward_pass", default=None)


# ------------------------------------------------------------------------------------- the pass


class Targets(Protocol):
    """The tensors that a pass goes to, if it does not go to all leaves (see `autograd.passes`)."""

    def begin(self, tasks: dict[Node, NodeTask]) -> None: ...
    def reaches(self, node: Node) -> bool: ...


def run(roots: Sequence[tuple[Edge, Array]], retain_graph: bool = False, wanted: Targets | None = None) -> None:
    """Send the gradients of `roots` back. Every leaf collects its gradient in `.grad`, unless it is not `wanted`."""
    tasks = count_edges([edge for edge, _ in roots])
    this = BackwardPass(tasks, wanted, current.get(), retain_graph)
    if wanted is not None or observers.passes:
        _tell_of(this)
    outer, mode, silence = current.set(this), grad_mode.mode.set(grad_mode.OFF), enter_silence()
    try:  # gradients are not recorded; they may be inf or nan
        _walk(this, roots)
        for callback in this.callbacks:  # a callback may queue another
            callback()
    finally:
        leave_silence(silence)
        grad_mode.mode.reset(mode)
        current.reset(outer)


def _tell_of(this: BackwardPass) -> None:
    """A pass begins: others may want to know which nodes it goes to."""
    observers.begins(this.tasks)
    if this.wanted is not None:
        this.wanted.begin(this.tasks)


def _walk(this: BackwardPass, roots: Sequence[tuple[Edge, Array]]) -> None:
    """Run every node that can be reached, newest first."""
    ready: list[NodeTask] = []
    for (node, output), grad in roots:
        if this.tasks[node].arrive(output, grad, owned=False):
            heappush(ready, this.tasks[node])
    while ready:
        _run_node(heappop(ready), this, ready)


def _run_node(task: NodeTask, this: BackwardPass, ready: list[NodeTask]) -> None:
    """Run one node, and hand on the gradients of its inputs. Those that it was given are free afterwards."""
    node, grads, owns, tasks = task.node, task.grads, task.node.owns, this.tasks
    del task.grads
    if this.wanted is not None or observers.around or node.hooks or node.device is not CPU:
        results, owns = rare_cases.attend(node, grads, task.owned, this.wanted, this.retain_graph)
    elif isinstance(node, AccumulateGrad):
        node.collect(grads[0], task.owned[0])
        return
    else:
        results = node.run(grads)
        if not this.retain_graph:
            node.release()
    for edge, grad in zip(node.edges, results, strict=True):
        if edge is not None and tasks[edge[0]].arrive(edge[1], grad, owns):
            heappush(ready, tasks[edge[0]])
