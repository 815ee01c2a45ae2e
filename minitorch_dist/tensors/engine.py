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

import heapq
import itertools
from collections.abc import Callable, Sequence
from contextvars import ContextVar
from threading import Lock  # noqa: TID251 - guards one `+=`; nothing waits in here
from typing import Any

import numpy as np

from minitorch_dist.tensors import base, devices, grad_mode, ledger
from minitorch_dist.tensors.base import Array, TensorBase
from minitorch_dist.tensors.graph import edge_of
from minitorch_dist.tensors.nodes import AccumulateGrad, Edge, Gradient, Node

_accumulating = Lock()
_callbacks: ContextVar[list[Callable[[], None]] | None] = ContextVar("callbacks", default=None)


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
    waiting, children = _count_edges(roots)
    wanted: dict[Edge, int] = {}
    needed: set[Node] | None = None
    arrived: list[Gradient] = []
    if inputs is not None:
        for number, tensor in enumerate(inputs):
            edge = edge_of(tensor)
            assert edge is not None, "inputs were checked to require grad"
            wanted.setdefault(edge, number)
        arrived = [None] * len(inputs)
        needed = _leading_to({node for node, _ in wanted}, children)

    buffers: dict[Node, _Arrived] = {}
    ready: list[tuple[int, Node]] = []
    grad: Gradient
    for (node, output), grad in roots:
        first = node not in buffers
        _add(buffers, node, output, grad, owned=False)
        if first and not waiting.get(node):
            heapq.heappush(ready, (-node.sequence, node))
    callbacks = _callbacks.set([])
    mode = grad_mode.mode.set(grad_mode.OFF)  # gradients are not recorded themselves
    try:
        while ready:
            node = heapq.heappop(ready)[1]
            here = buffers.pop(node, None)
            results: Sequence[Gradient] = ()
            owned = False
            if here is not None and (needed is None or node in needed):
                if node.pre_hooks:
                    here.grads = _run_pre_hooks(node, here.grads)
                for output, grad in enumerate(here.grads) if wanted else ():
                    if (node, output) in wanted:
                        arrived[wanted[node, output]] = grad
                if isinstance(node, AccumulateGrad):
                    if accumulate and (needed is None or (node, 0) in wanted):
                        collect(node, here.grads[0], here.owned[0])
                    continue
                results, owned = node.run(here.grads), node.owns
                if node.post_hooks:
                    results, owned = _run_post_hooks(node, results, here.grads), False
                if not retain_graph:
                    node.release()
            for edge, grad in itertools.zip_longest(node.edges, results):
                if edge is None:
                    continue
                child, output = edge
                if grad is not None:
                    if node.device is not devices.CPU:
                        ledger.track(grad, node.device, "gradient")
                    _add(buffers, child, output, grad, owned)
                left = waiting[child] = waiting[child] - 1
                if left == 0:
                    heapq.heappush(ready, (-child.sequence, child))
            del here, results  # free what was used before the next node allocates
            grad = None
        for callback in _callbacks.get() or ():
            callback()
    finally:
        grad_mode.mode.reset(mode)
        _callbacks.reset(callbacks)
    return arrived


def queue_callback(function: Callable[[], None]) -> None:
    """Call `function` when the running backward pass of this thread has finished."""
    callbacks = _callbacks.get()
    if callbacks is None:
        raise RuntimeError("Final callbacks can only be installed during backward pass.")
    callbacks.append(function)


def _count_edges(roots: Sequence[tuple[Edge, Array]]) -> tuple[dict[Node, int], list[Node]]:
    """How many edges lead to each node, and all nodes."""
    waiting: dict[Node, int] = {}
    seen = {root[0][0]: None for root in roots}
    stack = list(seen)
    while stack:
        for edge in stack.pop().edges:
            if edge is None:
                continue
            child = edge[0]
            if child in waiting:
                waiting[child] += 1
            else:
                waiting[child] = 1
            if child not in seen:
                seen[child] = None
                stack.append(child)
    return waiting, list(seen)


def _leading_to(targets: set[Node], nodes: list[Node]) -> set[Node]:
    """The nodes from which some target can be reached; oldest first, so children are known."""
    needed = set(targets)
    for node in sorted(nodes, key=lambda n: n.sequence):
        if any(edge is not None and edge[0] in needed for edge in node.edges):
            needed.add(node)
    return needed


class _Arrived:
    """The gradients that have arrived at a node, one per output, and which we may write to."""

    __slots__ = ("grads", "owned")

    def __init__(self, outputs: int) -> None:
        self.grads: list[Gradient] = [None] * outputs
        self.owned = [False] * outputs


def _add(buffers: dict[Node, _Arrived], node: Node, output: int, grad: Array, owned: bool) -> None:
    """Add `grad` to what has arrived at this output."""
    if type(grad) is not np.ndarray:
        grad = np.asarray(grad)
    there = buffers.get(node)
    if there is None:
        there = buffers[node] = _Arrived(node.outputs)
    present = there.grads[output]
    if present is None:
        there.grads[output], there.owned[output] = grad, owned
    elif there.owned[output]:
        np.add(present, grad, out=present)
    else:
        total = there.grads[output] = np.asarray(present + grad)
        there.owned[output] = True
        if node.device is not devices.CPU:
            ledger.track(total, node.device, "gradient")


def collect(node: AccumulateGrad, grad: Gradient, owned: bool) -> None:
    """Add a complete gradient to its leaf, then call the leaf's hooks."""
    leaf = node.variable
    if leaf is None or grad is None:
        return
    if grad.dtype != leaf.array.dtype:
        grad, owned = grad.astype(leaf.array.dtype), True
    with _accumulating:
        present = leaf._grad
        if present is None:
            if node.pre_hooks or not owned or not grad.flags.c_contiguous:
                grad = np.array(grad, order="C")
            leaf._grad = base.new(leaf.plain, grad, leaf.storage.device)
            if leaf.storage.device is not devices.CPU:
                ledger.retag(grad, leaf.storage.device, "gradient")
        else:
            present.array += grad
            present.storage.version += 1
    if node.after:
        for hook in list(node.after.values()):
            hook(leaf)


# ------------------------------------------------------------------------------------------- hooks


def _wrap(node: Node, array: Gradient) -> Any:
    return None if array is None else base.new(TensorBase.plain, array, node.device)


def _unwrap(tensor: Any) -> Gradient:
    return None if tensor is None else tensor.array


def _run_pre_hooks(node: Node, grads: list[Gradient]) -> list[Gradient]:
    tensors = tuple(_wrap(node, g) for g in grads)
    for hook in list((node.pre_hooks or {}).values()):
        replaced = hook(tensors)
        if replaced is not None:
            tensors = replaced if isinstance(replaced, tuple) else (replaced,)
    return [_unwrap(t) for t in tensors]


def _run_post_hooks(
    node: Node, results: Sequence[Gradient], grads: list[Gradient]
) -> Sequence[Gradient]:
    outputs = tuple(_wrap(node, g) for g in grads)
    for hook in list((node.post_hooks or {}).values()):
        replaced = hook(tuple(_wrap(node, r) for r in results), outputs)
        if replaced is not None:
            results = [
                _unwrap(t) for t in (replaced if isinstance(replaced, tuple) else (replaced,))
            ]
    return results
