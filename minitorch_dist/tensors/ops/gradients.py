"""The methods of a tensor that are about its gradient: `backward`, hooks, detaching, flags.

`backward` and `grad` check the conditions of the engine: a gradient of the right shape for every root, and a
graph to send it through.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from minitorch_dist.tensors.autograd import passes
from minitorch_dist.tensors.autograd.hooks import RemovableHandle, hooks_of
from minitorch_dist.tensors.autograd.nodes import TorchNode
from minitorch_dist.tensors.core import base, engine, graph
from minitorch_dist.tensors.core.base import Array, T, TensorBase
from minitorch_dist.tensors.core.graph import Edge

# ---------------------------------------------------------------------------- running it backwards


def backward_from(
    self: TensorBase,
    gradient: TensorBase | None = None,
    retain_graph: bool | None = None,
    create_graph: bool = False,
    inputs: TensorBase | Sequence[TensorBase] | None = None,
) -> None:
    """Add the gradient of `self` to `.grad` of every leaf it was computed from.

    Args:
        gradient: The gradient of the result with respect to `self`; not needed for a scalar.
        retain_graph: Keep what the pass needs, for another one.
        create_graph: Must be False, because derivatives of derivatives are not here.
        inputs: Only these leaves.

    Raises:
        RuntimeError: It was not computed from a leaf that requires grad, or the pass was made before.

    Example:
        >>> x = torch.tensor([2.0, 3.0], requires_grad=True)
        >>> (x * x).sum().backward()
        >>> x.grad.tolist()
        [4.0, 6.0]
    """
    if gradient is None and inputs is None and not create_graph:
        engine.run([_root(self)], bool(retain_graph))
    else:
        backward(self, gradient, retain_graph, create_graph, inputs=inputs)


def _root(tensor: TensorBase, index: int = 0) -> tuple[Edge, Array]:
    """Where the gradient of a single element starts: with 1."""
    edge, x = graph.edge_of(tensor), tensor.array
    if edge is None:
        raise _no_root(index)
    if x.size != 1 or x.dtype.kind == "c":
        raise RuntimeError(
            f"grad can be implicitly created only for real scalar outputs, not for {x.dtype}{list(x.shape)}"
        )
    return edge, np.ones(x.shape, x.dtype, like=x)


def _no_root(index: int) -> RuntimeError:
    return RuntimeError(f"element {index} of tensors does not require grad and does not have a grad_fn")


def backward(
    tensors: TensorBase | Sequence[TensorBase],
    grad_tensors: TensorBase | Sequence[TensorBase | None] | None = None,
    retain_graph: bool | None = None,
    create_graph: bool = False,
    inputs: TensorBase | Sequence[TensorBase] | None = None,
) -> None:
    """Add to `.grad` of every leaf (or of `inputs` only) the gradient of the sum of `tensors`.

    `grad_tensors` are the weights of that sum, one per tensor: a tensor of its shape, or None for
    1, which is only understood for single elements.
    """
    _refuse_graph(create_graph)
    given = as_tuple(tensors)
    if inputs is not None:
        inputs = as_tuple(inputs)
        if not inputs:
            raise RuntimeError("`inputs` argument to `backward()` cannot be empty.")
        for tensor in inputs:
            if tensor._grad_fn is not None or not tensor.requires_grad:
                retain_grad(tensor)
        passes.run(_roots(given, grad_tensors), bool(retain_graph), inputs)
    else:
        engine.run(_roots(given, grad_tensors), bool(retain_graph))


def grad(
    outputs: T | Sequence[T],
    inputs: T | Sequence[T],
    grad_outputs: TensorBase | Sequence[TensorBase | None] | None = None,
    retain_graph: bool | None = None,
    create_graph: bool = False,
    only_inputs: bool = True,
    allow_unused: bool | None = None,
) -> tuple[T, ...]:
    """The gradients of the sum of `outputs` with respect to `inputs`; no `.grad` changes.

    Args:
        outputs: A tensor, or several.
        inputs: Tensors that they were computed from.
        grad_outputs: A gradient for each output; not needed for scalars.
        retain_graph: Keep what the pass needs, for another one.
        create_graph: Must be False.
        only_inputs: Must be True.
        allow_unused: The gradient of an input that the outputs do not depend on is None, and not an error.

    Returns:
        A gradient for each input.

    Raises:
        RuntimeError: The outputs do not depend on an input.

    Example:
        >>> x = torch.tensor(3.0, requires_grad=True)
        >>> torch.autograd.grad(x * x, x)[0].item()
        6.0
    """
    _refuse_graph(create_graph)
    wanted = as_tuple(inputs)
    if not wanted:
        raise RuntimeError("`inputs` argument to `grad()` cannot be empty.")
    for tensor in wanted:
        if not isinstance(tensor, TensorBase):
            raise RuntimeError(f"all inputs have to be Tensors, but got {type(tensor).__name__}")
        if graph.edge_of(tensor) is None:
            raise RuntimeError("One of the differentiated Tensors does not require grad")
    roots = _roots(as_tuple(outputs), grad_outputs)
    found = passes.run(roots, bool(retain_graph), wanted, accumulate=False)
    results: list[Any] = []
    for index, (tensor, grad) in enumerate(zip(wanted, found, strict=True)):
        if grad is not None:
            results.append(base.new(TensorBase.plain, grad, tensor.storage.device))
        elif allow_unused:
            results.append(None)
        else:
            raise RuntimeError(f"the outputs do not depend on input {index}: allow_unused=True makes its gradient None")
    return tuple(results)


def _refuse_graph(create_graph: bool) -> None:
    if create_graph:
        raise NotImplementedError(
            "create_graph=True is not offered: a backward pass is not recorded here, so a gradient has no gradient. "
            "Write the first gradient as a formula of tensors and differentiate that, take differences of gradients, "
            "or run this in PyTorch, which records it."
        )


def as_tuple(tensors: Any) -> tuple[Any, ...]:
    return (tensors,) if isinstance(tensors, TensorBase) else tuple(tensors)


def _roots(
    tensors: tuple[TensorBase, ...], grads: TensorBase | Sequence[TensorBase | None] | None
) -> list[tuple[Edge, Array]]:
    """Where the gradients start, and with which."""
    weights = (None,) * len(tensors) if grads is None else as_tuple(grads)
    if len(weights) != len(tensors):
        raise RuntimeError(f"got {len(tensors)} tensors and {len(weights)} gradients; there must be one (or None) each")
    return [
        _root(tensor, index) if weight is None else _weighted_root(tensor, weight, index)
        for index, (tensor, weight) in enumerate(zip(tensors, weights, strict=True))
    ]


def _weighted_root(tensor: TensorBase, weight: TensorBase, index: int) -> tuple[Edge, Array]:
    """Where the gradient of `tensor` starts, and with which weight."""
    x = tensor.array
    if not isinstance(weight, TensorBase):
        raise TypeError(f"gradients can be either Tensors or None, but got {type(weight).__name__}")
    if weight.array.shape != x.shape:
        raise RuntimeError(f"gradient {index} has the shape {list(weight.array.shape)}, and its tensor {list(x.shape)}")
    if weight.storage.device is not tensor.storage.device:
        devices = f"{weight.storage.device}, and its tensor on {tensor.storage.device}"
        raise RuntimeError(f"gradient {index} is on {devices}")
    edge = graph.edge_of(tensor)
    if edge is None:
        raise _no_root(index)
    return edge, weight.array.astype(x.dtype, copy=False)


def requires_grad_(self: T, requires_grad: bool = True) -> T:
    """Ask that operations on this leaf be recorded (or not); returns `self`."""
    self.requires_grad = requires_grad
    return self


# ------------------------------------------------------------------------------------------- hooks


def register_hook(self: T, hook: Callable[[T], T | None]) -> RemovableHandle:
    """`hook(grad)` is called when the gradient of `self` is complete, and may return another."""
    if not self._requires_grad:
        raise RuntimeError("cannot register a hook on a tensor that doesn't require gradient")
    node, output = _edge(self)
    return RemovableHandle(hooks_of(node).tensor.setdefault(output, {}), hook)


def register_post_accumulate_grad_hook(self: T, hook: Callable[[T], None]) -> RemovableHandle:
    """`hook(self)` is called after a gradient was added to `self.grad`; leaves only."""
    if not self._requires_grad:
        raise RuntimeError("cannot register a hook on a tensor that doesn't require gradient")
    if self._grad_fn is not None:
        raise RuntimeError("post accumulate grad hooks cannot be registered on non-leaf tensors")
    return RemovableHandle(hooks_of(_edge(self)[0]).collected, hook)


def retain_grad(self: TensorBase) -> None:
    """Keep `.grad` of a tensor that is not a leaf, too."""
    if not self._requires_grad:
        raise RuntimeError("can't retain_grad on Tensor that has requires_grad=False")
    node, output = _edge(self)
    if self._grad_fn is not None:
        self._retains_grad = True
        hooks_of(node).retained[output] = weakref.ref(self)


def _edge(self: TensorBase) -> Edge:
    edge = graph.edge_of(self)
    assert edge is not None
    return edge


def is_inference(input: TensorBase) -> bool:
    """Whether `input` was made in `inference_mode`."""
    return input._inference


# ------------------------------------------------------------- its place, also if a view is stale


def grad_fn(self: TensorBase) -> TorchNode | None:
    """The node that made this tensor; None for a leaf."""
    if self._base is not None:
        graph.refresh(self)
    return self._grad_fn  # type: ignore[no-any-return]


def is_leaf(self: TensorBase) -> bool:
    """Whether no recorded operation made this tensor."""
    return grad_fn(self) is None
