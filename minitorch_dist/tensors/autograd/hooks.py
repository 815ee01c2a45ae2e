"""Functions that are called when a gradient passes by, and the handle that takes them out again.

At one node of the graph, in this order:

    reached          called with nothing, to know that the pass has come here
    tensor hooks     `tensor.register_hook`: sees, and may replace, the gradient of one output
    retained         `tensor.retain_grad`: what is left then goes into `tensor.grad`
    (the node runs, or the leaf collects)
    collected        `leaf.register_post_accumulate_grad_hook`: called with the leaf
    kept             the same for whoever also cares for gradients that a context of distributed autograd
                     keeps, and not `.grad` (DDP does)
"""

from __future__ import annotations

import itertools
import weakref
from collections.abc import Callable
from typing import Any

import numpy as np

from minitorch_dist.tensors.core import base, device_labels, rare_cases
from minitorch_dist.tensors.core.base import Array, TensorBase
from minitorch_dist.tensors.core.graph import Node
from minitorch_dist.tensors.core.operations import add

Hooks = dict[int, Callable[..., Any]]


class RemovableHandle:
    """Returned by every `register_…hook`; `remove()` it, or use it as a context manager."""

    _ids = itertools.count()

    def __init__(self, hooks: Hooks, hook: Callable[..., Any], first: bool = False) -> None:
        self.id = next(self._ids)
        self._hooks = hooks
        if first:
            others = dict(hooks)
            hooks.clear()
            hooks[self.id] = hook
            hooks.update(others)
        else:
            hooks[self.id] = hook

    def remove(self) -> None:
        self._hooks.pop(self.id, None)

    def __enter__(self) -> RemovableHandle:
        return self

    def __exit__(self, *exc: object) -> None:
        self.remove()


class NodeHooks:
    """All hooks of one node; made when the first is registered."""

    __slots__ = ("collected", "kept", "reached", "retained", "tensor")

    def __init__(self) -> None:
        self.reached: Hooks = {}
        self.tensor: dict[int, Hooks] = {}  # by output
        self.retained: dict[int, weakref.ref[TensorBase]] = {}  # by output
        self.collected: Hooks = {}
        self.kept: Hooks = {}

    def run_tensor_hooks(
        self, grads: list[Array | None], owned: list[bool], device: device_labels.device
    ) -> list[Array | None]:
        """The gradients of the outputs after tensor hooks; retained ones are stored."""
        grads = list(grads)
        for output, hooks in self.tensor.items():
            for hook in list(hooks.values()):
                here = _own(grads, owned, output, device)
                replaced = hook(here)
                if replaced is not None:
                    grads[output] = checked(hook, here, replaced).array
                    owned[output] = False
        for output, reference in self.retained.items():
            tensor, grad = reference(), grads[output]
            if tensor is not None and grad is not None:
                present, here = tensor._grad, _wrap(grad.copy(), device)
                tensor._grad = here if present is None else add(present, here)
        return grads


def hooks_of(node: Node) -> NodeHooks:
    """The place where the hooks of `node` are registered."""
    if node.hooks is None:
        node.hooks = NodeHooks()
    found: NodeHooks = node.hooks
    return found


def follow(tensor: TensorBase, node: Node, output: int) -> None:
    """Keep the gradient of `tensor` at `node`, which is now the one that made it."""
    old = tensor._grad_fn
    if old is not None and old.hooks is not None:
        old.hooks.retained.pop(tensor._output_nr, None)
    hooks_of(node).retained[output] = weakref.ref(tensor)


rare_cases.retained = follow


def _own(grads: list[Array | None], owned: list[bool], output: int, device: device_labels.device) -> Any:
    """The gradient as a tensor which the hook may write to: nobody else reads this array."""
    grad = grads[output]
    if grad is None:
        return None
    if not owned[output]:
        grad = grads[output] = grad.copy()
        owned[output] = True
    return _wrap(grad, device)


def _wrap(grad: Array | None, device: device_labels.device) -> Any:
    """The gradient as a tensor"""
    if grad is None:
        return None
    return base.new(TensorBase.plain, np.asanyarray(grad), device)


def checked(hook: Callable[..., Any], old: TensorBase | None, new: Any) -> TensorBase:
    """The tensor that a hook returned in place of `old`, if it may replace it."""
    if not isinstance(new, TensorBase):
        raise TypeError(f"expected Variable, but hook returned '{type(new).__name__}'")
    if old is None:
        return new
    was, got = ((each.dtype, list(each.array.shape)) for each in (old, new))
    if was != got:
        raise RuntimeError(f"hook {hook!r} has changed the type or the shape: it was {was}, and is {got}")
    return new
