"""The engine: gradients travel from the roots back to the leaves.

Naively that is a recursion over the graph. It is written as a loop, so that a chain of 50,000
operations needs no stack, and it visits nodes in torch's order: among the nodes whose gradient is
complete, the most recently recorded runs first, and leaves collect at once. This order decides in
which sequence DDP's buckets become ready.

    count, for every node reachable from the roots, how many edges lead to it
    ready = the roots
    while ready:
        take the newest node; it turns its gradients into those of its inputs
        hand these on: add to what has already arrived there; one edge fewer is awaited
        a node that awaits no more edges becomes ready
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextvars import ContextVar
from functools import partial
from threading import Lock  # noqa: TID251 - guards one `+=`; nothing waits in here
from typing import Any, TypeAlias

import numpy as np

from minitorch_dist.tensors import base, devices, grad_mode, ledger, ready_queue, watch, work
from minitorch_dist.tensors.base import Array, TensorBase
from minitorch_dist.tensors.graph import edge_of
from minitorch_dist.tensors.nodes import AccumulateGrad, Edge, Gradient, Node
from minitorch_dist.tensors.quiet import quiet
from minitorch_dist.tensors.ready_queue import Task

Execute: TypeAlias = Callable[[Sequence[Gradient]], Sequence[Gradient]]

_accumulating = Lock()


class Pass:
    """What a running backward pass lets others know and ask."""

    __slots__ = ("callbacks", "kept", "notes", "outer", "tasks", "wanted")

    def __init__(
        self, tasks: dict[Node, Task], wanted: Wanted | None, outer: Pass | None = None,
        kept: dict[TensorBase, Any] | None = None,
    ) -> None:  # fmt: skip
        self.tasks, self.wanted = tasks, wanted
        self.outer = outer  # the pass during which this one began (a re-entrant checkpoint's does)
        self.kept = kept  # where gradients of leaves are collected; None: in their `.grad`
        self.callbacks: list[Callable[[], None]] = []
        self.notes: dict[object, Any] = {}  # whatever a hook wants to remember until the end

    def reaches(self, node: Node) -> bool:
        """Whether a gradient will arrive at `node`."""
        return node in self.tasks and (self.wanted is None or self.wanted.reaches(node))


current: ContextVar[Pass | None] = ContextVar("backward_pass", default=None)
leaf_order: ContextVar[Callable[[], int] | None] = ContextVar("leaf_order", default=None)
"""Draws lots among the leaves: of those that are complete at the same time, whoever has the highest
collects first, and calls its hooks. Without it they have torch's order, which torch does not promise."""


def run(
    roots: Sequence[tuple[Edge, Array]],
    retain_graph: bool = False,
    inputs: Sequence[TensorBase] | None = None,
    accumulate: bool = True,
) -> list[Gradient]:
    """Send the gradients of `roots` back. Returns those that arrive at `inputs`, if given.

    Without `inputs` every leaf collects its gradient in `.grad`. With `inputs` only the paths to
    them are walked, and nothing else collects; `accumulate` decides whether they do.
    """
    tasks = ready_queue.count_edges([edge for edge, _ in roots])
    draw = leaf_order.get()
    if draw is not None:
        for node, task in tasks.items():
            if isinstance(node, AccumulateGrad):
                task.priority += draw()
    wanted = None if inputs is None else Wanted(inputs, tasks, accumulate)
    ready: list[Task] = []
    for (node, output), grad in roots:
        if tasks[node].arrive(output, grad, owned=False):
            ready_queue.push(ready, tasks[node])
    this = Pass(tasks, wanted, current.get())
    outer = current.set(this)
    mode = grad_mode.mode.set(grad_mode.OFF)  # gradients are not recorded themselves
    try:
        quiet(_walk, tasks, ready, wanted, retain_graph)  # gradients may be inf or nan
        for callback in this.callbacks:  # a callback may queue another
            callback()
    finally:
        grad_mode.mode.reset(mode)
        current.reset(outer)
    return [] if wanted is None else wanted.arrived


def _walk(
    tasks: dict[Node, Task], ready: list[Task], wanted: Wanted | None, retain_graph: bool
) -> None:
    """Run every node that can be reached, newest first."""
    cpu, watched = devices.CPU, watch.anomaly or work.on
    results: Sequence[Gradient]
    grad: Gradient
    while ready:
        task = ready.pop() if len(ready) == 1 else ready_queue.pop(ready)
        node, grads = task.node, task.grads
        del task.grads  # what has been used is freed before the next node allocates
        owns = node.owns
        if wanted is not None and not wanted.take(task, grads):
            results = [None] * len(node.edges)
        elif isinstance(node, AccumulateGrad):
            collect(node, grads, task.owned)
            continue
        else:
            execute: Execute = node.run_watched if watched else node.run
            if wanted is not None and node.vjps is not None and not watched:
                execute = partial(node.run, is_asked=wanted.reaches)
            if node.hooks is None:
                results = execute(grads)
            else:
                results = run_hooked(node, grads, task.owned, execute)
                owns = False
            if node.device is not cpu:
                ledger.track_all(results, node.device, "gradient")
            if not retain_graph:
                node.release()
        for edge, grad in zip(node.edges, results, strict=True):
            if edge is not None:
                child = tasks[edge[0]]
                if child.arrive(edge[1], grad, owns):
                    ready_queue.push(ready, child)
        del grads, results
        grad = None


def run_hooked(
    node: Node, grads: list[Gradient], owned: list[bool], execute: Execute
) -> Sequence[Gradient]:
    """Execute a node that has hooks, with those before and after."""
    grads = hooked(node, grads, owned)
    results = execute(grads)
    return results if node.hooks is None else node.hooks.run_after(results, grads, node.device)


def hooked(node: Node, grads: list[Gradient], owned: list[bool]) -> list[Gradient]:
    """What the hooks before a node make of its gradients."""
    if node.hooks is not None:
        for reached in list(node.hooks.reached.values()):
            reached()
        grads = node.hooks.run_tensor_hooks(grads, owned, node.device)
        grads = node.hooks.run_before(grads, owned, node.device)
    return grads


def queue_callback(function: Callable[[], None]) -> None:
    """Call `function` when the running backward pass of this thread has finished."""
    running = current.get()
    if running is None:
        raise RuntimeError("Final callbacks can only be installed during backward pass.")
    running.callbacks.append(function)


def outermost() -> Pass | None:
    """The backward pass that this thread is in; of nested ones the first."""
    running = current.get()
    while running is not None and running.outer is not None:
        running = running.outer
    return running


class Wanted:
    """A pass with `inputs`: which nodes it runs, and what has arrived where it was asked for."""

    def __init__(
        self, inputs: Sequence[TensorBase], tasks: dict[Node, Task], accumulate: bool
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

    def take(self, task: Task, grads: list[Gradient]) -> bool:
        """Keep what was asked for; returns whether the node has to run.

        Where a node does run, its tensor hooks have not been called yet (as in torch).
        """
        node = task.node
        runs = node in self._runs
        places = self._places.get(node, ())
        if places and not runs and node.hooks is not None:
            grads = node.hooks.run_tensor_hooks(grads, task.owned, node.device)
        for output, index in places:
            grad = grads[output]
            self.arrived[index] = None if grad is None else grad.copy()
        return runs


def collect(node: AccumulateGrad, grads: list[Gradient], owned: list[bool]) -> None:
    """Add a complete gradient to its leaf, with the hooks before and after."""
    hooks = node.hooks
    if hooks is not None:
        grads = hooked(node, grads, owned)
    leaf, grad = node.variable, grads[0]
    if leaf is None:
        return
    if grad is not None:
        with _accumulating:
            present = leaf._grad
            if present is None:
                grad = settled(grad, leaf, owned[0] and (hooks is None or not hooks.see()))
                leaf._grad = base.new(leaf.plain, grad, leaf.storage.device)
                if leaf.storage.device is not devices.CPU:
                    ledger.retag(grad, leaf.storage.device, "gradient")
            else:
                present.array += grad
                present.storage.version += 1
    if hooks is not None:
        for hook in (*hooks.collected.values(), *hooks.kept.values()):
            hook(leaf)
        hooks.run_after((), grads, node.device)


def _fits(grad: Array, leaf: TensorBase) -> bool:
    """Whether the leaf may keep this array: of its dtype, and laid out as it is."""
    x = leaf.array
    return grad.dtype == x.dtype and (
        grad.strides == x.strides or (grad.flags.c_contiguous and x.flags.c_contiguous)
    )


def settled(grad: Array, leaf: TensorBase, is_ours: bool) -> Array:
    """The gradient as the leaf keeps it: this very array, if nobody else has it and it fits; else a
    copy with the leaf's dtype, and with its strides if those leave no gaps."""
    if is_ours and _fits(grad, leaf):
        return grad
    own = np.empty_like(leaf.array)
    own[...] = grad
    return own
