"""The backward pass that is recorded itself. Engine and nodes are those of any other pass."""

from __future__ import annotations

import functools
from collections.abc import Iterable, Sequence
from typing import Any

from minitorch_dist.tensors.autograd import attended
from minitorch_dist.tensors.autograd.attended import Wanted
from minitorch_dist.tensors.core import engine
from minitorch_dist.tensors.core.base import Array, TensorBase
from minitorch_dist.tensors.core.graph import RESULT, AccumulateGrad, Edge, Gradient, Node
from minitorch_dist.tensors.core.observers import Execute
from minitorch_dist.tensors.double_backward import rules as rules
from minitorch_dist.tensors.double_backward.closures import Reads
from minitorch_dist.tensors.double_backward.recording_array import (
    NotDifferentiable,
    RecordingArray,
    history_of,
    recording,
)

Roots = Sequence[tuple[Edge, TensorBase]]


def run(roots: Roots, retain_graph: bool, inputs: Sequence[TensorBase]) -> list[TensorBase | None]:
    """As `attended.run`: the gradients that arrive at `inputs`, as tensors with a history."""
    wanted = RecordedPass(inputs, accumulate=False)
    engine.run([(edge, recording(weight)) for edge, weight in roots], retain_graph, wanted)
    return [None if grad is None else grad.history for grad in wanted.arrived]  # type: ignore[attr-defined]


attended.run_recorded = run


class RecordedPass(Wanted):
    """A pass to `inputs` that runs each node on recording arrays."""

    def begin(self, tasks: Iterable[Node]) -> None:
        for node in tasks:
            if node.hooks is not None:
                raise NotDifferentiable(f"{node.name_}, which has hooks")
        super().begin(tasks)

    def execution(self, node: Node) -> Execute:
        return functools.partial(run_recorded, node, self)


def run_recorded(node: Node, wanted: Wanted, grads: Sequence[Gradient]) -> Sequence[Gradient]:
    """The gradients of the inputs of `node`, recorded; those that lead to no wanted node are None."""
    if type(node).run is not Node.run:  # of an operation that the user has written
        raise NotDifferentiable(node.name_)
    if node.vjps is None and node.backward is None:
        node.recall()
    node.check_versions()
    goes = [edge is not None and wanted.reaches(edge[0]) for edge in node.edges]
    if all(grad is None for grad in grads):
        return [None] * len(goes)
    reads = _read_tensors(node)
    found: Sequence[Any]
    if node.vjps is not None:
        pairs = zip(node.vjps, goes, strict=True)
        found = [reads.replaced(vjp)(grads[0]) if there else None for vjp, there in pairs]
    else:
        given = reads.replaced(node.backward)(*grads)
        found = [grad if there else None for grad, there in zip(given, goes, strict=True)]
    for grad in found:
        if grad is not None and not isinstance(grad, RecordingArray):
            raise NotDifferentiable(node.name_)
        if grad is not None:
            history_of(grad)  # which raises if there is none
    return found


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
    out: TensorBase = object.__new__(TensorBase.plain)
    out.array, out.storage = array, storage
    if edge is not None:
        out._requires_grad = True
        if isinstance(edge[0], AccumulateGrad):
            out._accumulate = edge[0]
        else:
            out._grad_fn, out._output_nr = edge
    return out
