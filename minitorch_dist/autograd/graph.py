"""Looking at the graph: `Node`, and where a tensor's gradient goes.

`saved_tensors_hooks` and `save_on_cpu` are not offered: what an operation keeps stands in its
closures, not in a list that could be packed elsewhere. `utils.checkpoint` gives back the memory.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Literal, NamedTuple

from minitorch_dist.tensors.autograd.hooks import RemovableHandle
from minitorch_dist.tensors.core import engine, graph
from minitorch_dist.tensors.core.base import TensorBase
from minitorch_dist.tensors.core.graph import Node as Node
from minitorch_dist.tensors.ops.gradients import register_hook


class GradientEdge(NamedTuple):
    """The output of a node that a gradient arrives at."""

    node: Node
    output_nr: int
    ownership_token: Any = None


def get_gradient_edge(tensor: TensorBase) -> GradientEdge:
    """Where the gradient of `tensor` goes; for a leaf that is its AccumulateGrad node."""
    edge = graph.edge_of(tensor)
    if edge is None:
        raise RuntimeError(
            "It is not possible to get the gradient edge for a Tensor that does not require gradients"
        )
    return GradientEdge(*edge)


def increment_version(tensor: TensorBase | Sequence[TensorBase]) -> None:
    """Say that the memory of these tensors was written by other means than their operations."""
    for one in (tensor,) if isinstance(tensor, TensorBase) else tensor:
        one.storage.version += 1


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


def register_multi_grad_hook(
    tensors: Sequence[TensorBase],
    fn: Callable[..., None],
    *,
    mode: Literal["all", "any"] = "all",
) -> MultiHandle:
    """Call `fn` once per backward pass. It gets the list of all gradients when the last of them is complete
    (None where the pass does not reach), or the first one (`mode="any"`).
    """
    if mode not in ("all", "any"):
        raise ValueError(f"Expects mode to be one of ('all', 'any') but got {mode}")
    nodes = [get_gradient_edge(tensor).node for tensor in tensors]
    key = object()

    def arrived(index: int) -> Callable[[Any], None]:
        def hook(grad: Any) -> None:
            running = engine.current.get()
            assert running is not None, "hooks are called inside a backward pass"
            if mode == "any":
                if key not in running.notes:
                    running.notes[key] = True
                    fn(grad)
                return
            grads, awaited = running.notes.setdefault(
                key, ([None] * len(nodes), [i for i, n in enumerate(nodes) if running.reaches(n)])
            )
            grads[index] = grad
            awaited.remove(index)
            if not awaited:
                fn(grads)

        return hook

    return MultiHandle([register_hook(t, arrived(i)) for i, t in enumerate(tensors)])
