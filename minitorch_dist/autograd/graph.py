"""Looking at the graph: `Node`, and hooks that wait for the gradients of several tensors.

`saved_tensors_hooks` and `save_on_cpu` are not offered: what an operation keeps stands in its
closures, not in a list that could be packed elsewhere. `utils.checkpoint` gives back the memory.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from minitorch_dist import not_offered
from minitorch_dist.tensors.autograd.hooks import RemovableHandle
from minitorch_dist.tensors.core import engine, graph
from minitorch_dist.tensors.core.base import TensorBase
from minitorch_dist.tensors.core.graph import Node as Node
from minitorch_dist.tensors.ops.gradients import register_hook


class MultiHandle:
    """Removes the hooks of several tensors."""

    def __init__(self, handles: Sequence[RemovableHandle]) -> None:
        self._handles = tuple(handles)

    def remove(self) -> None:
        for handle in self._handles:
            handle.remove()

    def __enter__(self) -> MultiHandle:
        return self

    def __exit__(self, *exc: object) -> None:
        self.remove()


def register_multi_grad_hook(tensors: Sequence[TensorBase], fn: Callable[..., None]) -> MultiHandle:
    """Call `fn` once per backward pass, with the list of all gradients when the last of them is complete
    (None where the pass does not reach).
    """
    edges = [graph.edge_of(tensor) for tensor in tensors]
    nodes = [edge[0] for edge in edges if edge is not None]
    if len(nodes) < len(edges):
        raise AssertionError(
            f"Expected gradient function to be set. Tensor {edges.index(None)} does not require gradients"
        )
    key = object()

    def arrived(index: int) -> Callable[[Any], None]:
        def hook(grad: Any) -> None:
            running = engine.current.get()
            assert running is not None, "hooks are called inside a backward pass"
            grads, awaited = running.notes.setdefault(
                key, ([None] * len(nodes), [i for i, n in enumerate(nodes) if running.reaches(n)])
            )
            grads[index] = grad
            awaited.remove(index)
            if not awaited:
                fn(grads)

        return hook

    return MultiHandle([register_hook(t, arrived(i)) for i, t in enumerate(tensors)])


not_offered.guard(globals())
