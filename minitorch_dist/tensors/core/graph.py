"""The graph of what was computed: one `Node` per operation, written down as it runs.

An operation computes with numpy and then calls `record`. Beside each input it names a function and
the tensors whose *values* that function reads. The function turns the gradient of the result into the
gradient of that input:

    def mul(self, other):
        x, y = self.array, other.array
        return record(x * y, "MulBackward0",
                      (self, lambda g: g * y, other),
                      (other, lambda g: g * x, self))

        x ──────┐
                MulBackward0 ── result        edges run from the result back to its inputs,
        y ──────┘                             gradients travel along them (see `engine`)

A tensor whose values are read is noted with its version. So a write to it in place before the backward
pass is an error and not a wrong gradient. Operations with one function for all gradients, or with several
results, are in `joint`.
"""

from __future__ import annotations

import itertools
import weakref
from collections.abc import Callable, Sequence
from threading import Lock  # noqa: TID251 - guards short assignments; nothing waits in here
from typing import Any, Final, TypeAlias

import numpy as np

from minitorch_dist.tensors.core import base, observers, rare_cases, view_geometry
from minitorch_dist.tensors.core.base import Array, Storage, T, TensorBase, type_name
from minitorch_dist.tensors.core.device_labels import CPU, device as Device
from minitorch_dist.tensors.core.grad_mode import ON, current_mode

Gradient: TypeAlias = "Array | None"
Edge: TypeAlias = "tuple[Node, int]"
Edges: TypeAlias = "tuple[Edge | None, ...]"
Read: TypeAlias = tuple[Storage, int, Array]  # the storage that was read, its version then, the array
Vjp: TypeAlias = "Callable[[Array], Array]"
Vjps: TypeAlias = "Sequence[Vjp | None]"  # one for each edge; None where the edge is
Input: TypeAlias = tuple[T, *tuple[Any, ...]]  # a tensor, its vjp, and the tensors that this one reads
Inputs: TypeAlias = "Sequence[Input[Any]]"

_count = itertools.count()
_first_use, _accumulating = Lock(), Lock()
LEAVES_FIRST: Final = 1 << 62  # leaves collect as soon as their gradient is complete
FREED: Final = (
    "Trying to backward through the graph a second time (or directly access saved tensors after they "
    "have already been freed). Saved intermediate values of the graph are freed when you call "
    ".backward() or autograd.grad(). Specify retain_graph=True if you need to backward through the "
    "graph a second time or if you need to access saved tensors after calling backward."
)


# ------------------------------------------------------------------------------------ recording


def record(array: Any, name: str, first: Input[T], *more: Input[Any], reads_result: bool = False) -> T:
    """The tensor that holds `array`, computed from the inputs `first, *more`.

    Each input is `(tensor, vjp)` or `(tensor, vjp, *read)`. `vjp` maps the gradient of the result to that of the
    tensor. It reads the tensors `read` (and the result, with `reads_result`), or if None, a value of its own.
    """
    inputs, device, may_require = (first, *more), first[0].storage.device, False
    for item in inputs:
        tensor = item[0]
        if tensor.storage.device is not device:
            device = common_device([each[0] for each in inputs])
        may_require = may_require or tensor._requires_grad or tensor._base is not None
    out: T = base.new(first[0].plain, array, device)
    if observers.operations:
        observers.operated(name, [item[0].array for item in inputs], (out.array,))
    if may_require and current_mode() == ON:
        _note_down(out, name, inputs, reads_result)
    return out


def _note_down(out: TensorBase, name: str, inputs: Inputs, reads_result: bool) -> None:
    """Let a new node be what made `out`, if an input needs a gradient."""
    edges, vjps, reads = [], [], []
    for item in inputs:
        edge = edge_of(item[0])
        edges.append(edge)
        vjps.append(None if edge is None else item[1])
        reads.append(() if edge is None else item[2:])
    if not any(edges):
        return
    noted = [read_now(read) for some in reads for read in some if read is not None]  # up to date now
    if reads_result:
        noted.append((out.storage, 0, out.array))
    node = out._grad_fn = KINDS[name](name, tuple(edges), out.storage.device, vjps)
    node.reads = noted if any(reads) or reads_result else None
    out._requires_grad = True
    if node.device is not CPU:
        observers.memory.kept(node, [out])


def edge_of(tensor: TensorBase) -> Edge | None:
    """Where the gradient of `tensor` goes, or None if it needs none."""
    if tensor._base is not None:
        refresh(tensor)
    if tensor._grad_fn is not None:
        return tensor._grad_fn, tensor._output_nr
    if not tensor._requires_grad:
        return None
    return tensor._accumulate or node_of_leaf(tensor), 0


def node_of_leaf(leaf: TensorBase) -> AccumulateGrad:
    """The node that collects the gradient of a leaf, made on first use."""
    with _first_use:  # two threads must not make two
        if leaf._accumulate is None:
            leaf._accumulate = KINDS["AccumulateGrad"](leaf)
        return leaf._accumulate  # type: ignore[no-any-return]


def read_now(tensor: TensorBase) -> Read:
    """A node's note of a tensor whose values its gradient reads."""
    if tensor._inference:
        raise RuntimeError("Inference tensors cannot be saved for backward: take clone() of it outside of the mode")
    return tensor.storage, tensor.storage.version, tensor.array


def result(like: T, array: Any) -> T:
    """A result without a gradient (comparisons, indices), on the device of `like`."""
    out: T = base.new(like.plain, array, like.storage.device)
    if observers.operations:
        observers.operated("", (like.array,), (out.array,))
    return out


# --------------------------------------------------------------------------------------- nodes


class Node:
    """One recorded operation: the nodes its gradients go to, and how to compute them.

    `sequence` grows with time; the engine runs the newest ready node first. `owns` says that the
    arrays this node returns belong to nobody else, so a leaf may keep them without copying.
    """

    backward: Callable[..., Sequence[Gradient]] | None = None
    reads: list[Read] | None = None
    outputs: int = 1
    owns: bool = False
    hooks: Any = None

    def __init__(self, name: str, edges: Edges, device: Device = CPU, vjps: Vjps | None = None) -> None:
        self.name_, self.edges, self.device, self.vjps = name, edges, device, vjps
        self.sequence = next(_count)
        if observers.nodes.on:
            observers.nodes.tell(self)

    def run(self, grads: Sequence[Gradient]) -> Sequence[Gradient]:
        """The gradients of the inputs, given those of the outputs: one (or None) per edge."""
        vjps, grad = self.vjps, grads[0]  # another thread may release them
        if self.reads is not None:
            self.check_versions()
            if grad is not None and grad.dtype.kind == "c":
                return self.run_complex(grads)
        if vjps is None or grad is None:
            return self.run_joint(grads)
        return [None if vjp is None else vjp(grad) for vjp in vjps]

    def run_joint(self, grads: Sequence[Gradient]) -> Sequence[Gradient]:
        """As `run`, by one function for all gradients (see `joint`), or with no gradient at all."""
        backward = self.backward
        if self.vjps is None and backward is None:
            self.recall()
            return self.run(grads)
        if backward is None or (grads[0] is None and self.outputs == 1):
            return [None] * len(self.edges)
        return backward(*grads)

    def run_complex(self, grads: Sequence[Gradient]) -> Sequence[Gradient]:
        """The gradients of the inputs, where those of the outputs are complex and values are read.

        A complex gradient is torch's, the conjugate of ∂L/∂z. The functions of a node multiply ∂L/∂z with
        derivatives, as they do for real numbers. So gradients are conjugated on their way in and on their way out.
        """
        given = [None if grad is None else grad.conj() for grad in grads]
        if self.vjps is None:
            results = list(self.backward(*given)) if self.backward is not None else []
        else:
            results = [None if vjp is None else vjp(given[0]) for vjp in self.vjps]  # type: ignore[arg-type]
        return [None if result is None else result.conj() for result in results]

    def recall(self) -> None:
        """Compute again what was forgotten (a checkpoint's nodes can do it)."""
        raise RuntimeError(FREED)

    def check_versions(self) -> None:
        """Raise if what this node reads was written to since."""
        for storage, version, array in self.reads or ():
            if storage.version != version:
                raise modified(array, self.name_, storage.version, version)

    def release(self) -> None:
        """Forget what was read. Nodes that read nothing can run again, as in torch."""
        if self.reads is not None:
            self.reads = self.vjps = self.backward = None


class AccumulateGrad(Node):
    """The end of a path: adds what arrives to the gradient of a leaf.

    The leaf owns this node; the node only knows the leaf, so that deleting a parameter frees it.
    """

    def __init__(self, leaf: TensorBase) -> None:
        super().__init__("AccumulateGrad", (), leaf.storage.device)
        self.sequence = LEAVES_FIRST
        self.leaf = weakref.ref(leaf)

    def collect(self, grad: Gradient, is_ours: bool) -> None:
        """Add a complete gradient to the leaf. If `is_ours`, nobody else has this array."""
        leaf = self.leaf()
        if leaf is None or grad is None:
            return
        with _accumulating:
            present = leaf._grad
            if present is None:
                _begin_gradient(leaf, grad, is_ours)
            else:
                present.array += grad
                present.storage.version += 1


def _begin_gradient(leaf: TensorBase, grad: Array, is_ours: bool) -> None:
    grad = as_leaf_gradient(grad, leaf, is_ours)
    leaf._grad = base.new(TensorBase.plain, grad, leaf.storage.device)
    if leaf.storage.device is not CPU:
        observers.memory.collected(grad, leaf.storage.device)


def as_leaf_gradient(grad: Array, leaf: TensorBase, is_ours: bool) -> Array:
    """The gradient as the leaf keeps it: this very array, if nobody else has it and it fits; else a
    copy with the leaf's dtype, and with its strides if those leave no gaps."""
    x = leaf.array
    same_layout = grad.strides == x.strides or (grad.flags.c_contiguous and x.flags.c_contiguous)
    if is_ours and grad.dtype == x.dtype and same_layout:
        return grad
    own = np.empty_like(x)
    own[...] = grad
    return own


class _Kinds(dict[str, type[Any]]):
    """The classes of nodes, by name, so that `type(t.grad_fn).__name__` tells the operation."""

    base: type[Node] = Node  # `tensors.autograd.nodes` puts a class with torch's methods here

    def __missing__(self, name: str) -> type[Any]:
        return self.setdefault(name, type(name, (self.base,), {}))


KINDS = _Kinds(AccumulateGrad=AccumulateGrad)


# ------------------------------------------------------------------------------ rarer questions


def refresh(view: TensorBase) -> None:
    """Give a view its present history, if its storage was written in place since it was made.

    The write went into the history of the base (see `views`); this view is now a window on that.
    """
    base, version = view._base, view.storage.version
    if view._seen_version == version:
        return
    edge = edge_of(base)
    if edge is not None:
        if view._view_note:
            raise refusal(view)
        window, name = view_geometry.window_of(base.array, view.array), "AsStridedBackward0"
        adopt(view, KINDS[name](name, (edge,), view.storage.device, (window.widen,)), 0)
    view._seen_version = version


def refusal(view: TensorBase) -> RuntimeError:
    """The error for a recorded write to a view, or to its base, that gradients could not follow."""
    shape = list(view.array.shape)
    return RuntimeError(f"A view of shape {shape} is modified inplace, by itself or by its base: {view._view_note}.")


def adopt(tensor: TensorBase, node: Node, output: int) -> None:
    """Let `tensor` be what `node` made. `retain_grad` follows it; hooks stay where they were."""
    if tensor._retains_grad:
        rare_cases.retained(tensor, node, output)
    tensor._grad_fn, tensor._output_nr, tensor._requires_grad = node, output, True


def same_device(first: TensorBase, *others: TensorBase | None) -> None:
    """Raise if tensors that are used together, though no gradient links them, are apart."""
    for other in others:
        if other is None or other.plain is not first.plain:  # which a part of a tensor refuses
            continue
        if other.storage.device is not first.storage.device:
            common_device([first, *[t for t in others if t is not None]])


def common_device(inputs: Sequence[TensorBase]) -> Device:
    """The device all inputs share. A 0-dim CPU tensor goes along with any; others do not mix."""
    found = [t.storage.device for t in inputs if not (t.array.ndim == 0 and t.storage.device is CPU)]
    for device in found:
        if device is not found[0]:
            two = f"at least two devices, {found[0]} and {device}"
            raise RuntimeError(f"Expected all tensors to be on the same device, but found {two}!")
    return found[0] if found else CPU


def modified(array: Array, reader: str, version: int, expected: int) -> RuntimeError:
    """The error for a tensor that was written in place between its use and the backward pass."""
    return RuntimeError(
        "one of the variables needed for gradient computation has been modified by an inplace "
        f"operation: [{type_name(array)} {list(array.shape)}], which {reader} reads, is at version "
        f"{version}; expected version {expected} instead. Hint: clone() the tensor before the "
        "in-place operation."
    )
