"""The engine's queue: the newest node first, and among equals the order that torch has.

Leaves all have the same priority. torch keeps its ready nodes in C++'s `std::priority_queue`, a
binary heap, and a heap returns equals in an order that follows from its shape: four leaves of one
`stack` come out as 0, 2, 1, 3. DDP sends its buckets in this order, so the heap is written out here
step by step instead of taken from `heapq`, which would return them in another.

            0
          1   2          the children of place i stand at 2i+1 and 2i+2,
         3 4 5 6         none is newer than its parent
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from minitorch_dist.tensors import devices, ledger
from minitorch_dist.tensors.nodes import Edge, Gradient, Node


class Task:
    """What one pass of the engine knows about a node."""

    __slots__ = ("awaits", "grads", "node", "owned", "priority")

    def __init__(self, node: Node) -> None:
        self.node = node
        self.priority = node.sequence
        self.awaits = 0  # edges along which a gradient, or word that there is none, is to come
        outputs = node.outputs
        self.grads: list[Gradient] = [None] if outputs == 1 else [None] * outputs
        self.owned = [False] if outputs == 1 else [False] * outputs  # may be added to in place

    def arrive(self, output: int, grad: Gradient, owned: bool) -> bool:
        """Add what comes along one edge (None: nothing does); whether it was the last one."""
        if grad is not None:
            present = self.grads[output]
            if present is None:
                if type(grad) is not np.ndarray:  # arithmetic of 0-dim arrays returns numpy scalars
                    grad = np.asarray(grad)
                self.grads[output] = grad
                self.owned[output] = owned
            elif self.owned[output]:
                np.add(present, grad, out=present)
            else:
                total = self.grads[output] = np.asarray(present + grad)
                self.owned[output] = True
                if self.node.device is not devices.CPU:
                    ledger.track(total, self.node.device, "gradient")
        self.awaits -= 1
        return not self.awaits

    def __repr__(self) -> str:
        there = sum(grad is not None for grad in self.grads)
        return (
            f"<Task {self.node.name()}: {there} of {len(self.grads)} gradients, "
            f"awaits {self.awaits} edges>"
        )


def count_edges(roots: Sequence[Edge]) -> dict[Node, Task]:
    """A task for every node that can be reached, with the number of edges that lead to it."""
    tasks: dict[Node, Task] = {}
    stack: list[Sequence[Edge | None]] = [roots]
    while stack:
        for edge in stack.pop():
            if edge is not None:
                node = edge[0]
                task = tasks.get(node)
                if task is None:
                    task = tasks[node] = Task(node)
                    stack.append(node.edges)
                task.awaits += 1
    return tasks


def push(heap: list[Task], task: Task) -> None:
    """Append, and rise above every parent that is older."""
    place = len(heap)
    heap.append(task)
    priority = task.priority
    while place:
        above = (place - 1) >> 1
        parent = heap[above]
        if parent.priority >= priority:
            break
        heap[place] = parent
        place = above
    heap[place] = task


def pop(heap: list[Task]) -> Task:
    """Take the top; let the newer child (of equals the right one) rise into each gap; then put the
    last task into the gap that is left at the bottom and let it rise again."""
    last = heap.pop()
    if not heap:
        return last
    top = heap[0]
    gap, size = 0, len(heap)
    while (child := 2 * gap + 2) < size:
        if heap[child].priority < heap[child - 1].priority:
            child -= 1
        heap[gap] = heap[child]
        gap = child
    if child == size:  # only a left child
        heap[gap] = heap[child - 1]
        gap = child - 1
    priority = last.priority
    while gap:
        above = (gap - 1) >> 1
        if heap[above].priority >= priority:
            break
        heap[gap] = heap[above]
        gap = above
    heap[gap] = last
    return top
