"""How the results of a `Function`'s forward enter the graph.

A fresh tensor simply becomes an output of the node. Two cases are special: an input that is returned untouched, and
a view of an input. Both share memory with something that has a history of its own, so writing to them in place is
refused.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from minitorch_dist.tensors.core.base import TensorBase, bare
from minitorch_dist.tensors.core.views import CUSTOM, SEVERAL
from minitorch_dist.tensors.ops.elementwise.copying import detach


def wrap_outputs(node: Any, args: Sequence[Any], outputs: tuple[Any, ...]) -> tuple[Any, ...]:
    """The outputs as the caller gets them; tensors among them are recorded as made by `node`."""
    inputs = [a for a in args if isinstance(a, TensorBase)]
    constant = node._non_differentiable
    node.outputs = len(outputs)
    found: list[Any] = []
    for number, out in enumerate(outputs):
        if not isinstance(out, TensorBase):
            node.outputs_like.append(None)
            found.append(out)
            continue
        node.outputs_like.append((out.array.shape, out.array.dtype))
        differentiable = out.array.dtype.kind not in "iub" and not _is_in(out, constant)
        if _is_in(out, inputs):
            out = _alias(out)
        if node.recording and differentiable:
            out._grad_fn, out._output_nr, out._requires_grad = node, number, True
        elif out._requires_grad:
            out = detach(out)
        found.append(out)
    if node.recording:
        several = sum(isinstance(o, TensorBase) and o._grad_fn is node for o in found) > 1
        for out in found:
            if isinstance(out, TensorBase) and out._base is not None and out._grad_fn is node:
                out._view_note = SEVERAL if several else CUSTOM
    return tuple(found)


def _is_in(tensor: Any, others: Sequence[Any]) -> bool:
    return any(other is tensor for other in others)


def _alias(tensor: TensorBase) -> TensorBase:
    """The same memory as a view without history."""
    out: TensorBase = bare(tensor.plain, tensor.array, tensor.storage)
    out._base = tensor if tensor._base is None else tensor._base
    out._seen_version = tensor.storage.version
    out._inference = tensor._inference
    return out
