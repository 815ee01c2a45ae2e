"""The backward pass that is recorded itself. Engine and nodes are those of any other pass."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import Any

import numpy as np

from minitorch_dist.tensors.autograd import attended
from minitorch_dist.tensors.autograd.attended import Wanted
from minitorch_dist.tensors.core import engine, grad_mode
from minitorch_dist.tensors.core.base import Array, TensorBase, bare
from minitorch_dist.tensors.core.graph import (
    RESULT,
    AccumulateGrad,
    Edge,
    Gradient,
    Node,
    edge_of,
    record,
)
from minitorch_dist.tensors.core.observers import Execute
from minitorch_dist.tensors.double_backward import rules as rules
from minitorch_dist.tensors.double_backward.closures import Reads
from minitorch_dist.tensors.double_backward.recording_array import (
    NotDifferentiable,
    RecordingArray,
    constant,
    history_of,
    recording,
)
from minitorch_dist.tensors.double_backward.simple_forms import form_of
from minitorch_dist.tensors.double_backward.simple_products import Cells, Form, kept_by

Roots = Sequence[tuple[Edge, TensorBase]]


def run(roots: Roots, retain_graph: bool, inputs: Sequence[TensorBase]) -> list[TensorBase | None]:
    """As `attended.run`: the gradients that arrive at `inputs`, as tensors with a history."""
    wanted = RecordedPass(inputs, accumulate=False)
    engine.run([(edge, recording(weight)) for edge, weight in roots], retain_graph, wanted)
    return [None if grad is None else grad.history for grad in wanted.arrived]  # type: ignore[attr-defined]


attended.run_recorded = run


FLAT: dict[str, tuple[int, ...]] = {
    **{
        f"{name}Backward0": (0,)
        for name in (
            "Abs", "Relu", "LeakyRelu", "Hardtanh", "Threshold", "Softshrink", "Hardshrink", "RreluWithNoise", "NllLoss", "NllLoss2D",
            *(f"{kind}{d}D" for kind in ("AvgPool", "AdaptiveAvgPool", "AdaptiveMaxPool") for d in (1, 2)),
            *(f"MaxPool{d}DWithIndices" for d in (1, 2)),
            *(f"{kind}Pad{d}D" for kind in ("Reflection", "Replication") for d in (1, 2, 3)),
        )
    },
    "PreluKernelBackward0": (0, 1), "FmodBackward1": (1,), "RemainderBackward1": (1,),
}  # fmt: skip
"""Nodes of piecewise linear functions, and the inputs whose gradients torch differentiates to zeros instead of None."""


def _with_zeros(grad: Any, of_result: Any, node: Node) -> Any:
    """`grad`, as something that depends on the result of `node`, though with slope 0."""
    if grad is None or of_result is None:
        return grad
    history, shape, kind = history_of(grad), of_result.shape, of_result.dtype
    result = _tensor(np.asarray(of_result), history.storage, (node, 0))
    zeros = record(np.asarray(grad), "ZerosLikeBackward0", (history, lambda g: g), (result, lambda g: np.zeros(shape, kind)))  # fmt: skip
    return recording(zeros)


class RecordedPass(Wanted):
    """A pass to `inputs` that runs each node on recording arrays."""

    def take(self, node: Node, grads: list[Gradient], owned: list[bool]) -> bool:
        grad_mode.mode.set(grad_mode.ON)  # until the end of the pass, which sets it back
        return super().take(node, grads, owned)

    def execution(self, node: Node) -> Execute:
        return functools.partial(run_recorded, node, self)


def run_recorded(node: Node, wanted: Wanted, grads: Sequence[Gradient]) -> Sequence[Gradient]:
    """The gradients of the inputs of `node`, recorded; those that lead to no wanted node are None."""
    if node.run_on_tensors is not None:
        known = [None if grad is None else history_of(grad) for grad in grads]  # type: ignore[arg-type]
        return [None if t is None else recording(t) for t in node.run_on_tensors(known)]
    if type(node).run is not Node.run:
        raise NotDifferentiable(node.name_)
    if node.vjps is None and node.backward is None:
        node.recall()
    node.check_versions()
    goes = [edge is not None and wanted.reaches(edge[0]) for edge in node.edges]
    if all(grad is None for grad in grads):
        return [None] * len(goes)
    reads = _read_tensors(node)
    found: Sequence[Any]
    turned = node.reads is not None and any(g is not None and g.dtype.kind == "c" for g in grads)
    given = [None if g is None else g.conj() for g in grads] if turned else grads
    own = node.backward or next(vjp for vjp in node.vjps or () if vjp is not None)
    if (form := form_of(own)) is not None:
        found = _by_simple_form(form, kept_by(own), reads, grads, goes)
    elif node.vjps is not None:
        pairs = zip(node.vjps, goes, strict=True)
        found = [reads.replaced(vjp)(given[0]) if there else None for vjp, there in pairs]
    else:
        all_of_them = reads.replaced(node.backward)(*given)
        found = [grad if there else None for grad, there in zip(all_of_them, goes, strict=True)]
    if turned and form is None:  # as `Node.run_complex` has it
        found = [grad.conj() if isinstance(grad, RecordingArray) else grad for grad in found]
    if node.name_ in FLAT:
        found = [_with_zeros(grad, grads[0], node) if at in FLAT[node.name_] else grad for at, grad in enumerate(found)]  # fmt: skip
    for grad in found:
        if grad is not None and not isinstance(grad, RecordingArray):
            raise NotDifferentiable(node.name_)
        if grad is not None:
            history_of(grad)  # which raises if there is none
    return found


def _by_simple_form(
    form: Form, kept: Cells, reads: Reads, grads: Sequence[Gradient], goes: Sequence[bool]
) -> list[Any]:
    """The gradients of a node's inputs, through its `form`: by copies, so that one input may depend on another."""
    given = [None if grad is None else history_of(grad) for grad in grads]  # type: ignore[arg-type]
    read = [history_of(each) for each in reads.recorded] or given
    inputs, outs = form(kept, [_copy(tensor) for tensor in read])
    roots = [(out, g) for out, g in zip(outs, given, strict=True) if g is not None]
    wanted = [tensor for tensor, there in zip(inputs, goes, strict=True) if there]
    found = iter(gradients(roots, wanted))
    return [recording(next(found)) if there else None for there in goes]


def _copy(tensor: Any) -> Any:
    """The same numbers, with an edge of their own to those who made them."""
    return tensor.clone() if tensor.requires_grad else tensor.detach().requires_grad_()


def gradients(roots: Sequence[tuple[Any, Any]], inputs: Sequence[Any]) -> list[Any]:
    """The recorded gradients of `inputs`, given those of some results."""
    edges = [(out.reshape(out.shape), grad) for out, grad in roots]
    found = run([(edge_of(out), grad) for out, grad in edges], True, inputs)  # type: ignore[misc]
    zeros = [constant(np.zeros(t.shape, t.array.dtype), t.storage.device) for t in inputs]
    return [zero if grad is None else grad for grad, zero in zip(found, zeros, strict=True)]


def _read_tensors(node: Node) -> Reads:
    """The arrays that `node` reads, as recording arrays of tensors with their place in the graph."""
    reads = Reads(node.name_)
    for storage, _, array, maker, output in node.reads or ():
        if array.dtype.kind not in "iub":
            edge: Edge | None = (node if maker is RESULT else maker, output)
            if maker is True:
                edge = _edge_to_leaf(node, array)
            tensor = _tensor(array, storage, edge if maker else None)
            reads.add(array, recording(tensor), is_result=maker is RESULT)
    return reads


def _edge_to_leaf(node: Node, array: Array) -> Edge | None:
    """The edge of `node` that leads to the leaf with this array; None if its gradient is not asked for."""
    for edge in node.edges:
        if edge is not None and isinstance(edge[0], AccumulateGrad):
            leaf = edge[0].leaf()
            if leaf is not None and leaf.array is array:
                return edge
    return None


def _tensor(array: Array, storage: Any, edge: Edge | None) -> TensorBase:
    """The tensor that was read: its array and its place in the graph."""
    out: TensorBase = bare(TensorBase.plain, array, storage)
    if edge is not None:
        out._requires_grad = True
        if isinstance(edge[0], AccumulateGrad):
            out._accumulate = edge[0]
        else:
            out._grad_fn, out._output_nr = edge
    return out
